"""A table with separators as it was written, so that single cells can be replaced in it.

All else stays to the byte: quotation marks, line ends, the byte order mark, rows of any length. A
system that takes its own file back may compare what it finds there with what it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_LINE_ENDS = ("\r\n", "\n", "\r")


class RawRecord(NamedTuple):
    """The cells of one row as they were written, quotation marks included, and its line end."""

    cells: tuple[str, ...]
    end: str

    @property
    def is_blank(self) -> bool:
        """Whether a reader passes over it."""
        return not any(_value(each).strip() for each in self.cells)


class RawTable(NamedTuple):
    """A file: encoding, byte order mark, what stands above its header, separator, all rows."""

    encoding: str
    mark: bytes
    above: str
    separator: str
    records: tuple[RawRecord, ...]

    def replaced(
        self, cells: Mapping[tuple[int, int], str], columns: Sequence[int] | None = None
    ) -> bytes:
        """Return the file with other texts in some cells, by row and column.

        Row 0 is the first below the header; blank rows are not counted. With `columns`, those are
        kept alone.
        """
        changes: dict[int, dict[int, str]] = {}
        for (row, column), text in cells.items():
            changes.setdefault(row, {})[column] = text
        lines = [self.above]
        row = -1
        for record in self.records:
            if record.is_blank:
                lines.append(self._joined(record, {}, columns))
                continue
            lines.append(self._joined(record, changes.get(row, {}), columns))
            row += 1
        return self.mark + "".join(lines).encode(self.encoding)

    def _joined(
        self, record: RawRecord, changes: Mapping[int, str], columns: Sequence[int] | None
    ) -> str:
        cells = [*record.cells]
        for column, text in changes.items():
            cells += [""] * (column + 1 - len(cells))
            cells[column] = self._quoted(text, like=cells[column])
        kept = range(len(cells)) if columns is None else columns
        return self.separator.join(cells[c] if c < len(cells) else "" for c in kept) + record.end

    def _quoted(self, text: str, like: str) -> str:
        """Return a text as a cell: in quotation marks where it needs them, or the cell had them."""
        needs = like.startswith('"') or any(each in text for each in (self.separator, *'"\r\n'))
        doubled = text.replace('"', '""')
        return f'"{doubled}"' if needs else text


def _value(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def parse_raw(text: str, encoding: str, mark: bytes, above: str, separator: str) -> RawTable:
    """Return a text that a strict reader has read, cell by cell.

    `mark` is the byte order mark before it, `above` what stands above its header.
    """
    records = tuple(_records(text[len(above) :], separator))
    return RawTable(encoding, mark, above, separator, records)


def _records(text: str, separator: str) -> Iterator[RawRecord]:
    cell = re.compile(
        rf'(?P<cell>"(?:[^"]|"")*"|[^{re.escape(separator)}\r\n]*)'
        rf"(?P<end>{re.escape(separator)}|\r\n|\n|\r|\Z)"
    )
    cells: list[str] = []
    at = 0
    while at < len(text) or cells:
        match = cell.match(text, at)
        assert match is not None  # a strict reader has read it before
        cells.append(match["cell"])
        at = match.end()
        if match["end"] in _LINE_ENDS or not match["end"]:
            yield RawRecord(tuple(cells), match["end"])
            cells = []
