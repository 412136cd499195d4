"""The marks of nbgrader that stand around solutions and hidden tests in a cell.

    ### BEGIN SOLUTION          ### BEGIN HIDDEN TESTS
    ### END SOLUTION            ### END HIDDEN TESTS

A mark is a line of its own, with one or more `#`. What looks like a mark and is none is refused: it
would show a solution to the students.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
STUB_COMMENT = "# YOUR CODE HERE"
TEXT_STUB = "YOUR ANSWER HERE"
"""What nbgrader puts into a text cell in place of a solution."""

Kind = Literal["plain", "solution", "hidden"]
_KINDS: dict[str, Kind] = {"SOLUTION": "solution", "HIDDEN TESTS": "hidden"}
_MARK = re.compile(r"#+[ \t]*(BEGIN|END) (SOLUTION|HIDDEN TESTS)\Z")
_LIKE_A_MARK = re.compile(
    r"#+[\W_]*(BEGIN|END)[\W_]*(SOLUTIONS?|HIDDEN[\W_]*TESTS?)\b", re.IGNORECASE
)


class MarkError(ValueError):
    """Raised when marks do not pair up. `line` counts the cell's lines from 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Region(msgspec.Struct, frozen=True):
    """Lines of a cell between two marks, the marks left out.

    `indentation` is the white space before the region's first line that is not blank, or before
    its mark where all are blank.
    """

    kind: Kind
    lines: tuple[str, ...]
    indentation: str


def regions(source: str) -> tuple[Region, ...]:
    """Cut a cell at its marks, in order. Raises MarkError when they do not pair up."""
    found: list[Region] = []
    kind: Kind = "plain"
    lines: list[str] = []
    opening, opened_at = "", 0
    for number, line in enumerate(source.split("\n")):
        mark = _read_mark(line, number)
        if mark is None:
            lines.append(line)
            continue
        edge, marked = mark
        if kind != ("plain" if edge == "BEGIN" else marked):
            raise MarkError(f"`{line.strip()}` where it cannot be", number)
        found.append(Region(kind, tuple(lines), _indentation([*lines, opening])))
        kind = marked if edge == "BEGIN" else "plain"
        lines, opening, opened_at = [], line, number
    if kind != "plain":
        raise MarkError(f"`{opening.strip()}` without its end", opened_at)
    return (*found, Region(kind, tuple(lines), _indentation([*lines, opening])))


def without_solutions(source: str, cell_type: str) -> str:
    """Put a stub in place of each solution and leave out hidden tests. Raises MarkError."""

    def stub(region: Region) -> list[str]:
        return [] if region.kind == "hidden" else stub_lines(region.indentation, cell_type)

    return _rewritten(source, stub)


def with_solutions(source: str) -> str:
    """Leave out the marks alone. Raises MarkError."""
    return _rewritten(source, lambda region: list(region.lines))


def stub_lines(indentation: str, cell_type: str = "code") -> list[str]:
    """Return what a student finds in place of a solution.

    Inside a block a stub raises, so that an unanswered function returns nothing gradable.
    """
    if cell_type != "code":
        return [TEXT_STUB]
    statement = "raise NotImplementedError()" if indentation else "..."
    return [indentation + STUB_COMMENT, indentation + statement]


def _rewritten(source: str, rewrite: Callable[[Region], list[str]]) -> str:
    lines: list[str] = []
    for region in regions(source):
        lines += region.lines if region.kind == "plain" else rewrite(region)
    return "\n".join(lines)


def _read_mark(line: str, number: int) -> tuple[str, Kind] | None:
    match = _MARK.match(line.strip())
    if match is not None:
        return match[1], _KINDS[match[2]]
    if _LIKE_A_MARK.match(line.strip()):
        raise MarkError(f"`{line.strip()}`, which is nearly a mark", number)
    return None


def _indentation(lines: list[str]) -> str:
    """Return the white space before the first line that is not blank."""
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]
