"""Places on the page that links lead to."""

from __future__ import annotations

from grader.report import Cell, Report


def part_anchor(place: int) -> str:
    """Return the name of a part's place; parts are counted from 1."""
    return f"part-{place}"


class CellAnchors:
    """Knows which code cells have a place on the page: of each number the first one."""

    def __init__(self, report: Report) -> None:
        numbered = (cell for cell in reversed(report.cells) if cell.kind == "code")
        self._cells = {cell.number: cell for cell in numbered if cell.number}

    def of(self, number: int) -> str:
        """Return the name of a code cell's place, empty where there is no such cell."""
        return f"cell-{number}" if number in self._cells else ""

    def at(self, cell: Cell) -> str:
        """Return the name of the place that a cell is, empty where it is none."""
        number = cell.number or 0
        return self.of(number) if self._cells.get(number) is cell else ""
