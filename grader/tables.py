"""Tables with commas, as learning management systems and spreadsheets read and write them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from grader.errors import UsageError
from grader.language import say

_SIZE_LIMIT = 16 * 2**20
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FORMULAS = tuple("=+-@＝＋－＠")
_BLANKS = ("\t", "\r", "\n")
_CELL_ENDS = re.compile(r"([;\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029][\s\"]*)(?=[=+\-@＝＋－＠])")
"""Where the next cell may begin: some programs divide by semicolons or tabs, and some end a row at
any line's end, quoted or not."""


class ReadTable(NamedTuple):
    """A table that was read: its header, its rows, all as long, and the lines they end on."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]


def read_table(path: Path) -> ReadTable:
    """Read a file whose first line names the columns, separated by commas, semicolons or tabs.

    It is in UTF-8, or in UTF-16 as spreadsheets write it. Raises UsageError that says what is
    wrong, and on which line.
    """
    text = _read_text(path)
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        found = [(reader.line_num, row) for row in reader if any(each.strip() for each in row)]
    except csv.Error as error:
        raise UsageError(
            say(
                "Line {line} of {name} is not CSV: {error}.",
                line=reader.line_num,
                name=path.name,
                error=str(error),
            ),
            say("Export it as CSV once more."),
        ) from None
    if not found:
        raise UsageError(say("{name} is empty.", name=path.name), say("Export it once more."))
    (_, header), *others = found
    width = len(header)
    rows = [(row + [""] * width)[:width] for _, row in others]
    return ReadTable(header, rows, [line for line, _ in others])


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_SIZE_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            say("Cannot read {path}: {reason}.", path=str(path), reason=str(error.strerror)),
            say("Check the name."),
        ) from None
    if len(content) > _SIZE_LIMIT:
        raise UsageError(
            say("{name} is larger than 16 MB.", name=path.name), say("Is it the file of one class?")
        )
    encoding = "utf-16" if content[:2] in _BYTE_ORDER_MARKS else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise UsageError(
            say("{name} is not text in UTF-8.", name=path.name),
            say('Save it as "CSV UTF-8": names would be wrong otherwise.'),
        ) from None


def write_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], separator: str = ","
) -> bytes:
    """Return a table in UTF-8, its lines ended as the standard for CSV asks for (RFC 4180)."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=separator, lineterminator="\r\n").writerows([header, *rows])
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
