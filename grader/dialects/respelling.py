"""What became of a notebook's code cells in today's spelling: few, small and plain facts of it.

The trees that it takes to find them are made elsewhere (`migration.py`), and need not be imported
by who only wants to know.
"""

import bisect
from collections.abc import Iterable

import msgspec

from grader.report import Dialect


class Respelt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cell that has changed: its place among the code cells that run, from 0, and its new text.

    `runs` say where its lines come from: line `runs[i][0]` of the new text, counted from 1, was
    line `runs[i][1]`, and up to the next run each line was the next one.
    """

    cell: int
    source: str
    runs: tuple[tuple[int, int], ...]

    def origin(self, line: int) -> int:
        """Return the line, from 1, that a line of the new text was."""
        place = bisect.bisect_right(self.runs, line, key=lambda run: run[0]) - 1
        first, origin = self.runs[max(place, 0)]
        return origin + line - first


class OldSpelling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something in an earlier spelling: in which code cell, from 0, on which line, from 1."""

    cell: int
    line: int
    what: str


class Respelling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The dialect of a notebook's code cells, and those that are spelt otherwise today.

    There is a `first` finding where the dialect is an earlier one.
    """

    dialect: Dialect = "current"
    cells: tuple[Respelt, ...] = ()
    first: OldSpelling | None = None


def runs_of(lines: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return the runs of a map of lines: where each begins, and the line that it begins with."""
    runs: list[tuple[int, int]] = []
    shift: int | None = None
    for line, origin in enumerate(lines, start=1):
        if origin - line != shift:
            runs.append((line, origin))
            shift = origin - line
    return tuple(runs)
