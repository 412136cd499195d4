"""Cells of notebooks as Python's own parser reads them, within bounds: anybody may have written it.

What IPython understands and Python does not is hidden before a cell is parsed. A mask has as many
lines as the text it hides, and the same columns in all lines that it leaves. So places in the
masked text are places in the student's, and nothing has to be put back.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings

from grader.errors import Told
from grader.language import say

CELL_LIMIT = 2**16
"""Longest cell that is looked at, in characters. The longest of the course has 8000."""

_WARNINGS = threading.Lock()

_PYTHON_CELLS = ("capture", "prun", "time", "timeit")
"""Cell magics whose cell is Python all the same."""

_COMMAND = re.compile(r"(?P<indent>[ \t]*)(?:[!?]|%{1,2}[A-Za-z])")
_ASSIGNED = re.compile(r"(?P<head>[ \t]*[A-Za-z_][\w, ]{0,80}=[ \t]*)(?:!|%[A-Za-z])")
_HELP = re.compile(r"(?P<indent>[ \t]*)[\w.]{1,200}\?{1,2}[ \t]*$")
_ESCAPED = re.compile(r"(?P<indent>[ \t]*)\\#")


class NotParsedError(Told):
    """Raised for a text that is left alone; says why, in a clause."""


def parse(source: str) -> ast.Module:
    """Read a cell with a parser that refuses to nest too deep. Raises NotParsedError."""
    if len(source) > CELL_LIMIT:
        raise NotParsedError(say("cell-longer-than-characters", limit=CELL_LIMIT))
    try:
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the student's escapes, which are not ours
            return ast.parse(source)
    except SyntaxError as error:
        at = error.lineno or 1
        raise NotParsedError(say("cell-not-python-line", line=at)) from None
    except (ValueError, RecursionError, MemoryError):
        raise NotParsedError(say("cell-not-python-or-nests-too-deep")) from None


def cell_magic(source: str) -> str:
    """Return the name of the magic that has a whole cell, "" without one."""
    found = re.match(r"\s{0,200}%%(\w{1,40})", source)
    return found.group(1) if found else ""


_WRITTEN = re.compile(r"\s{0,200}%%(?:writefile|file)[ \t][^\n]{0,400}\.py[\"']?[ \t]*(?:\n|\Z)")


def is_written(source: str) -> bool:
    """Say whether a cell writes a file of Python: `%%writefile layers.py`."""
    return _WRITTEN.match(source) is not None


def is_foreign(source: str) -> bool:
    """Say whether a cell is in another language than Python, such as that of `%%bash`."""
    magic = cell_magic(source)
    return bool(magic) and magic not in _PYTHON_CELLS


def mask(source: str) -> str:
    """Return a cell with its commands, magics and escaped comments hidden."""
    lines = source.split("\n")
    hidden: list[str] = []
    continued = False
    for line in lines:
        replacement = "" if continued else _masked(line)
        command = continued or (replacement is not None and not _ESCAPED.match(line))
        continued = command and line.rstrip().endswith("\\")
        hidden.append(line if replacement is None else replacement)
    return "\n".join(hidden)


def escaped_comments(source: str) -> list[int]:
    """Return the offsets of backslashes before a `#` that begins a line: exported Markdown."""
    found: list[int] = []
    start = 0
    for line in source.split("\n"):
        match = _ESCAPED.match(line)
        if match:
            found.append(start + len(match.group("indent")))
        start += len(line) + 1
    return found


def _masked(line: str) -> str | None:
    if _ESCAPED.match(line):
        return line.replace("\\#", " #", 1)
    command = _COMMAND.match(line) or _HELP.match(line)
    if command:
        return line[: len(line) - len(line.lstrip())] + "pass"
    assigned = _ASSIGNED.match(line)
    return assigned.group("head") + "0" if assigned else None
