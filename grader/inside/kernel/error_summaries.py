"""Turning an exception of a student's function into a name and one short line."""

from __future__ import annotations

import linecache
import re
import traceback
from pathlib import PurePosixPath

from grader.inside.kernel.objects import type_name

MESSAGE_LENGTH = 500
_TEXT_LENGTH = 200_000

_TELLING = re.compile(r"Error message: (?P<text>.+)|Check failed:.* is false: (?P<failed>.+)")
_NOISE = re.compile(r"Traceback \(most recent|Stack trace|File \"|\[bt\]|\d+: \S*tvm|[-=~^|\s]+$")
_PREFIX = re.compile(r"(?:\w*[Ee]rror|\w*Exception): +")
_PATH = re.compile(r"(?<![\w/.:])(?:[A-Za-z]:)?(?:/[\w.@+~-]+){2,}/?")
_INTEGER = re.compile(r"\bT\.int(?:32|64)\((-?\d+)\)")
_OPERATOR = re.compile(r"\bir\.Op\(span=.{0,80}?name=\"([\w.]+)\".{0,4000}?support_level=\d+\)")
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def describe_error(error: BaseException) -> str:
    """Return the line of an error's message that tells most, without stacks and machine paths.

    TVM puts a whole module before the reason ("Error message: ..."), or a condition of its own
    source ("Check failed: ... is false: ..."). It writes numbers as T.int64(4), and an operator
    with all that it has (ir.Op(...)) where its name would do. The result has at most MESSAGE_LENGTH
    characters.
    """
    text = _telling_line(_text_of(error)) or _failed_line(error)
    return tidy(_OPERATOR.sub(r"\1", _INTEGER.sub(r"\1", text)))


def _failed_line(error: BaseException) -> str:
    """Return the assertion that failed and says nothing; other errors have names that tell."""
    steps = list(traceback.walk_tb(error.__traceback__))
    if not steps or not isinstance(error, AssertionError):
        return ""
    frame, line = steps[-1]
    return linecache.getline(frame.f_code.co_filename, line).strip()


def tidy(text: str) -> str:
    """Make one short line of a text: paths become file names, and it can be encoded."""
    line = _PATH.sub(lambda match: PurePosixPath(match.group()).name, text)
    line = " ".join(_CONTROL.sub("", line).split())
    line = line.encode("utf-8", "replace").decode()
    return line if len(line) <= MESSAGE_LENGTH else line[: MESSAGE_LENGTH - 3] + "..."


def error_name(error: BaseException) -> str:
    """Return the name of an error's class."""
    return tidy(type_name(error))


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:_TEXT_LENGTH]
    except BaseException:  # noqa: BLE001 - a student's __str__ may raise anything
        return ""


def _telling_line(text: str) -> str:
    found = _TELLING.search(text)
    if found:
        return _PREFIX.sub("", found["text"] or found["failed"], count=1)
    lines = (line.strip() for line in text.splitlines())
    telling = next((line for line in lines if line and not _NOISE.match(line)), "")
    return _PREFIX.sub("", telling, count=1) if _PREFIX.match(telling) else telling
