"""From a notebook's cells in any dialect to the same cells in today's."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cache

import msgspec

from grader.dialects.edits import Edit, Offsets, apply, without_overlaps
from grader.dialects.future import move_future_imports
from grader.dialects.masks import cell_magic, escaped_comments, is_foreign, mask
from grader.dialects.names import Names
from grader.dialects.page import Page
from grader.dialects.parse import NotParsedError, Statement, parse, parse_exactly, statements
from grader.dialects.table import Dialect, by_id, names_gone, recognise, rows
from grader.dialects.walk import Walk

TEXT_LIMIT = 2**18
"""Most characters of a notebook that are looked at closely, about 3 s of work. A notebook of the
course has 10,000 of them at most."""


class Change(msgspec.Struct, frozen=True):
    """A row of the table that was applied: in which cell (from 0), and on which line of the
    original (from 1)."""

    row: str
    cell: int
    line: int


class Left(msgspec.Struct, frozen=True):
    """What was left as it is: in which cell (from 0), on which line (from 1), what, and why.

    `supplied` says that the compatibility module in the student kernel has the name.
    """

    cell: int
    line: int
    what: str
    why: str
    supplied: bool = False


class Migration(msgspec.Struct, frozen=True):
    """Cells in today's spelling.

    Line n of cell c begins with what was on line `lines[c][n - 1]` of the cell that was given.
    """

    sources: tuple[str, ...]
    lines: tuple[tuple[int, ...], ...]
    changes: tuple[Change, ...]
    left: tuple[Left, ...]

    @property
    def dialect(self) -> Dialect:
        """The dialect that the cells were written in, as far as the table can tell."""
        gone = {each.what for each in self.left}
        return recognise(
            frozenset(change.row for change in self.changes),
            tuple(each.dialects for each in names_gone() if each.name in gone),
        )

    def original_line(self, cell: int, line: int) -> int:
        """Return where a line of a migrated cell was. A line outside of the cell stays itself."""
        lines = self.lines[cell] if 0 <= cell < len(self.lines) else ()
        return lines[line - 1] if 0 < line <= len(lines) else line


class _Cell:
    """One cell on its way: what Python's parser reads, and why it reads nothing."""

    def __init__(self, source: str, number: int) -> None:
        self.source = source
        self.number = number
        self.readable = source
        self.module = ast.Module(body=[], type_ignores=[])
        self.masked = False
        self.problem = ""
        if is_foreign(source):
            return
        try:
            self.module = _read(source)
        except NotParsedError:
            self._read_masked()

    def _read_masked(self) -> None:
        self.readable = mask(self.source)
        self.masked = True
        try:
            self.module = _read(self.readable)
        except NotParsedError as problem:
            self.problem = str(problem)


def migrate_cells(sources: Sequence[str]) -> Migration:
    """Rewrite code cells, each by itself, into the dialect that the table ends with.

    Nothing is executed and nothing is joined. A cell that is not Python, or not within bounds,
    comes back as it is and is listed in `left`. What is in today's spelling does not change.
    """
    cells = [_Cell(source, number) for number, source in enumerate(sources)]
    names = Names(cell.module for cell in cells)
    budget = TEXT_LIMIT
    done: list[tuple[str, tuple[int, ...]]] = []
    changes: list[Change] = []
    left: list[Left] = []
    for cell in cells:
        if cell.problem:
            left.append(Left(cell.number, 1, "the cell", cell.problem))
        edits, notes, used = _edits_of(cell, names, budget)
        budget -= used
        left.extend(notes)
        done.append(apply(cell.source, edits))
        changes.extend(_changes(cell, edits))
    texts, lines = tuple(text for text, _ in done), tuple(each for _, each in done)
    return Migration(texts, lines, tuple(changes), tuple(left))


def _read(source: str) -> ast.Module:
    if "\r" in source.replace("\r\n", ""):
        raise NotParsedError("the cell has line ends of its own kind")
    return parse(source)


def _edits_of(cell: _Cell, names: Names, budget: int) -> tuple[list[Edit], list[Left], int]:
    """Return the edits of a cell, what is left, and how many characters were looked at."""
    edits: list[Edit] = []
    left: list[Left] = []
    used = 0
    offsets = Offsets(cell.source)
    if cell.masked and not cell.problem:
        row = by_id()["escaped-comment"]
        edits.extend(Edit(at, at + 1, 0, "", row.id) for at in escaped_comments(cell.source))
    for statement in statements(cell.module):
        text = _lines_of(cell.readable, statement)
        if not _words().search(text):
            continue
        used += len(text)
        if used > budget:
            left.append(Left(cell.number, statement.first, "the rest", "the notebook is too long"))
            break
        found, notes = _rewrite(cell, statement, text, offsets, names)
        edits.extend(found)
        left.extend(notes)
    if not cell_magic(cell.source):
        edits.extend(move_future_imports(cell.source, cell.module, offsets))
    return without_overlaps(edits), left, used


def _rewrite(
    cell: _Cell, statement: Statement, text: str, offsets: Offsets, names: Names
) -> tuple[list[Edit], list[Left]]:
    try:
        tree = parse_exactly(text, statement.nodes)
        page = Page(tree, cell.source, offsets, statement.first, names)
        page.tree.visit(Walk(page))
    except NotParsedError as problem:
        return [], [Left(cell.number, statement.first, "the statement", str(problem))]
    except RecursionError:
        return [], [Left(cell.number, statement.first, "the statement", "it nests too deep")]
    supplied = {each.name for each in names_gone() if each.supplied}
    notes = [Left(cell.number, *each, each[1] in supplied) for each in page.left]
    return page.edits, notes


def _lines_of(source: str, statement: Statement) -> str:
    lines = source.split("\n")[statement.first - 1 : statement.last]
    return "\n".join(lines) + "\n"


def _changes(cell: _Cell, edits: list[Edit]) -> list[Change]:
    """Return each row once for each line that it changed."""
    offsets = Offsets(cell.source)
    places = dict.fromkeys((edit.row, offsets.line(edit.start)) for edit in edits)
    return [Change(row, cell.number, line) for row, line in places]


@cache
def _words() -> re.Pattern[str]:
    """Return what finds the statements that a row or a name of the table might be in."""
    words = {word for row in rows() for word in row.words}
    words |= {each.name.rsplit(".", 1)[-1] for each in names_gone()}
    return re.compile("|".join(map(_whole, sorted(words))))


def _whole(word: str) -> str:
    """Return a pattern for a word that is no part of a longer one."""
    before = r"\b" if word[0].isalnum() else ""
    after = r"\b" if word[-1].isalnum() else ""
    return f"{before}{re.escape(word)}{after}"
