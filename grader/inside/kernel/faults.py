"""Cells and their errors: which one runs, those of the capture, a student's in one short line."""

from __future__ import annotations

import contextlib
import linecache
import re
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterator
from pathlib import PurePosixPath
from types import FrameType
from typing import Any

import msgspec

from grader.inside.kernel.objects import type_name
from grader.messages.kernel import StepLine
from grader.messages.printed_modules import with_names, with_operators, without_omissions

# Which cell is running, and which cell a line of a traceback belongs to.


_LABEL = re.compile(r"In\[(\d+)\]")


class Place(msgspec.Struct, frozen=True):
    """A line of a cell; both count from 1."""

    cell: int
    line: int


class Cells:
    """Counts code cells from 1. What a magic runs inside a cell (`%%capture`) is part of it."""

    def __init__(self, shell: Any) -> None:
        self.number = 0
        self._shell = shell
        self._open: Any = None
        self._texts: dict[int, _Text] = {}

    def begin(self, info: Any) -> None:
        """Note that a cell begins; `info` is IPython's ExecutionInfo."""
        if self._open is None or info.store_history:  # a cell whose end was never told is over, too
            self._open = info
            self.number += 1

    def end(self, result: Any) -> bool:
        """Note that a cell ends; `result` is IPython's ExecutionResult, None if it was broken off.

        Returns False for the end of an inner cell, and of an empty one, which never began.
        """
        if result is not None and result.info is not self._open:
            return False
        if result is not None and result.execution_count is not None:
            self.learn(result.execution_count, self.number, self._open.raw_cell)
        self._open = None
        return True

    def learn(self, label: int, number: int, text: str) -> None:
        """Note a cell's text: IPython calls it In[`label`], we count it as `number`."""
        self._texts[label] = _Text(number, text.splitlines())

    def number_of(self, filename: str) -> int | None:
        """Return the number of the cell that IPython compiled under a name, if it is known."""
        text = self._text_of(filename)
        return None if text is None else text.number

    def locate(self, error: BaseException) -> Place | None:
        """Return the innermost line of a cell in an error's traceback."""
        places = [self._place(*step) for step in traceback.walk_tb(error.__traceback__)]
        return next((place for place in reversed(places) if place is not None), None)

    def here(self) -> tuple[str, int] | None:
        """Return the file and line of the notebook's own code that is running, as Python knows
        them: those of a cell, also where it calls another file."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals is not self._shell.user_ns:
            frame = frame.f_back
        return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)

    def line_at(self, filename: str, line: int) -> StepLine:
        """Return the line of a cell that `here` has told of, once the cell has ended."""
        text = self._text_of(filename)
        place = None if text is None else text.place(line, linecache.getline(filename, line))
        if text is None or place is None:
            return StepLine()
        return StepLine(place.cell, place.line, text.line(place)[:_LINE_LENGTH])

    def _place(self, frame: FrameType, line: int) -> Place | None:
        if frame.f_globals is not self._shell.user_ns:
            return None
        filename = frame.f_code.co_filename
        text = self._text_of(filename)
        return None if text is None else text.place(line, linecache.getline(filename, line))

    def _text_of(self, filename: str) -> _Text | None:
        label = self._shell.compile.format_code_name(filename)
        match = _LABEL.fullmatch(label[1]) if label else None
        return self._texts.get(int(match[1])) if match else None


_LINE_LENGTH = 120
"""Most characters of a line that are reported with a step."""


class _Text:
    """The text of a cell. IPython drops empty lines at its top before it compiles it."""

    def __init__(self, number: int, lines: list[str]) -> None:
        self.number = number
        self._lines = [line.strip() for line in lines]
        self._dropped = next((index for index, line in enumerate(self._lines) if line), 0)

    def place(self, line: int, source: str) -> Place | None:
        """Return where a compiled line is; None for a line of a cell that a magic ran inside it."""
        index = line - 1 + self._dropped
        if index >= len(self._lines) or self._lines[index] != source.strip():
            return None
        return Place(self.number, index + 1)

    def line(self, place: Place) -> str:
        """Return the text of a line, without the blanks around it."""
        return self._lines[place.line - 1]


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
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def describe_error(error: BaseException) -> str:
    """Return the line of an error's message that tells most, without stacks and machine paths.

    TVM puts a whole module before the reason ("Error message: ..."), or its own condition
    source ("Check failed: ... is false: ..."). It writes numbers as T.int64(4), and an operator
    with all that it has (ir.Op(...)) where its name would do. The result has at most MESSAGE_LENGTH
    characters.
    """
    text = _telling_line(without_omissions(_text_of(error))) or _failed_line(error)
    return tidy(with_operators(_INTEGER.sub(r"\1", text)))


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
        return with_names(_PREFIX.sub("", found["text"] or found["failed"], count=1), text)
    lines = (line.strip() for line in text.splitlines())
    telling = next((line for line in lines if line and not _NOISE.match(line)), "")
    return _PREFIX.sub("", telling, count=1) if _PREFIX.match(telling) else telling
