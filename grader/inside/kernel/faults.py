"""Errors at the end of a cell: those of the capture, and a student's in one short line."""

from __future__ import annotations

import contextlib
import linecache
import re
import signal
import threading
import traceback
from collections import deque
from collections.abc import Iterator
from pathlib import PurePosixPath
from types import FrameType

from grader.inside.kernel.objects import type_name

_KEPT = 20


class Faults:
    """Keeps the last errors as text, for a developer who looks into a kernel."""

    def __init__(self) -> None:
        self.texts: deque[str] = deque(maxlen=_KEPT)

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Run the body up to its first error, and keep that. Interrupts go through."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - nothing of it may reach the cell
            self.texts.append("".join(traceback.format_exception(error)))

    @contextlib.contextmanager
    def sealed(self) -> Iterator[None]:
        """Run the body up to its first error or interrupt, and keep that."""
        try:
            with self.shielded():
                yield
        except BaseException as error:  # noqa: BLE001 - a cell's time limit interrupts what runs
            self.texts.append("".join(traceback.format_exception(error)))


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off the interrupt of a cell's time limit to the end of the body.

    A signal mask would not do: another thread takes the signal, and Python raises it in this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    handler = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)


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
