"""Tables with commas, as learning management systems and spreadsheets read and write them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from grader.errors import UsageError
from grader.files import read_capped
from grader.language import say

_SIZE_LIMIT = 16 * 2**20
_ENCODINGS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
"""By the byte order mark that a file begins with."""
_FORMULAS = tuple("=+-@＝＋－＠")
_BLANKS = ("\t", "\r", "\n")
_CELL_ENDS = re.compile(r"([;\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029][\s\"]*)(?=[=+\-@＝＋－＠])")
"""Where the next cell may begin: some programs divide by semicolons or tabs, and some end a row at
any line's end, quoted or not."""


_MADE_TEXT = re.compile(_CELL_ENDS.pattern.replace("(?=", "'(?="))
"""The same where `harmless` has put an apostrophe."""

_SEPARATORS = ",;\t"
_SEPARATOR_LINE = re.compile(r"\"?sep=([,;\t|])\"?[,;\t|]*", re.IGNORECASE)
"""First line of some exports, which tells a spreadsheet what separates the columns."""


# A table as it was written, so that single cells can be replaced in it. All else stays to the byte:
# quotation marks, line ends, the byte order mark, rows of any length. A system that takes its own
# file back may compare what it finds there with what it has.

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


class ReadTable(NamedTuple):
    """A table that was read: its header, its rows, all as long, and the lines they end on.

    `raw` is the same file as it was written, for changes of single cells.
    """

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    raw: RawTable = RawTable("utf-8", b"", "", ",", ())


def read_table(path: Path) -> ReadTable:
    """Read a file whose first line names the columns, separated by commas, semicolons or tabs.

    It is in UTF-8, or in UTF-16 as spreadsheets write it; a line `sep=;` may stand above the
    header. Raises UsageError that says what is wrong, and on which line.
    """
    text, encoding, mark = _read_text(path)
    above, separator = _separator(text)
    reader = csv.reader(
        io.StringIO(text[len(above) :], newline=""), delimiter=separator, strict=True
    )
    skipped = 1 if above else 0
    try:
        found = [
            (reader.line_num + skipped, row) for row in reader if any(each.strip() for each in row)
        ]
    except csv.Error as error:
        raise UsageError(
            say("line-not-csv", line=reader.line_num + skipped, name=path.name, error=str(error)),
            say("export-as-csv-again"),
        ) from None
    if not found:
        raise UsageError(say("empty", name=path.name), say("export-again"))
    (_, header), *others = found
    width = len(header)
    rows = [(row + [""] * width)[:width] for _, row in others]
    raw = parse_raw(text, encoding, mark, above, separator)
    return ReadTable(header, rows, [line for line, _ in others], raw)


def _separator(text: str) -> tuple[str, str]:
    """Return what stands above the header, empty for nothing, and what separates the columns."""
    first, end, _ = text.partition("\n")
    told = _SEPARATOR_LINE.fullmatch(first.rstrip("\r"))
    if told is not None:
        return first + end, told[1]
    return "", max(_SEPARATORS, key=first.count)


def _read_text(path: Path) -> tuple[str, str, bytes]:
    """Return a file's text, its encoding, and the byte order mark that stood before it."""
    larger = say("larger-than-16-mb", name=path.name)
    content = read_capped(path, _SIZE_LIMIT, larger, say("this-file-one-class"))
    mark = next((each for each in _ENCODINGS if content.startswith(each)), b"")
    encoding = _ENCODINGS.get(mark, "utf-8")
    try:
        return content[len(mark) :].decode(encoding), encoding, mark
    except UnicodeDecodeError:
        raise UsageError(
            say("not-text-in-utf", name=path.name), say("save-as-csv-utf-8-otherwise-names")
        ) from None


def write_table(header: Sequence[str], rows: Iterable[Iterable[str]], end: str = "\r\n") -> bytes:
    """Return a table in UTF-8, whose cells below the header are all `harmless`.

    Lines end as the standard for CSV asks for (RFC 4180), if nothing else is asked for.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator=end)
    writer.writerow(header)
    writer.writerows(map(harmless, row) for row in rows)
    return buffer.getvalue().encode()


def harmless(text: str) -> str:
    """Return text that no spreadsheet takes for a formula: a student may be called `=cmd()`.

    An apostrophe before it says that it is text (OWASP, "CSV Injection"). Numbers stay numbers.
    """
    try:
        float(text)
    except ValueError:
        told = _CELL_ENDS.sub(r"\1'", text)
        is_formula = told.startswith(_BLANKS) or told.lstrip().startswith(_FORMULAS)
        return f"'{told}" if is_formula else told
    return text


def as_before_harmless(text: str) -> str:
    """Return the text of which `harmless` made this cell: a file of our own that was edited."""
    inner = _MADE_TEXT.sub(r"\1", text)
    for found in (inner.removeprefix("'"), inner):
        if harmless(found) == text:
            return found
    return text
