"""Which cell is running, and which cell a line of a traceback belongs to."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import msgspec

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
        places = [self._place(step) for step in _steps(error.__traceback__)]
        return next((place for place in reversed(places) if place is not None), None)

    def _place(self, step: TracebackType) -> Place | None:
        if step.tb_frame.f_globals is not self._shell.user_ns:
            return None
        filename = step.tb_frame.f_code.co_filename
        text = self._text_of(filename)
        source = linecache.getline(filename, step.tb_lineno)
        return None if text is None else text.place(step.tb_lineno, source)

    def _text_of(self, filename: str) -> _Text | None:
        label = self._shell.compile.format_code_name(filename)
        match = _LABEL.fullmatch(label[1]) if label else None
        return self._texts.get(int(match[1])) if match else None


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


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
