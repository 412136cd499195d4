"""From a notebook's cells in any dialect to the same cells in today's."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import cast

import msgspec

from grader import report
from grader.dialects.names import WHY as UNKNOWN
from grader.dialects.names import ImportedNames, unknown_names
from grader.dialects.parse import Statement, move_future_imports, parse_exactly, statements, work_of
from grader.dialects.respelling import OldSpelling, Respelling, Respelt, runs_of
from grader.dialects.statement import Edit, Offsets, Rewriting, apply, without_overlaps
from grader.dialects.table import CURRENT, Dialect, by_id, names_gone, recognise, rows
from grader.dialects.walk import Walk
from grader.language import NOTHING, Text, foreign, say
from grader.python_cells import (
    CELL_LIMIT,
    NotParsedError,
    cell_magic,
    escaped_comments,
    is_foreign,
    is_written,
    mask,
    parse,
)

TEXT_LIMIT = 2**18
"""Most characters of a notebook that are looked at closely. A notebook of the course has 10,000 of
them at most."""

WORK_LIMIT = 20_000
"""Most nodes of all statements that are looked at closely, which takes about 2 s. A notebook of the
course has 4,000."""

CODE_LIMIT = 2**19
"""Most characters of all cells that are read by Python's parser, about 1 s of work."""


class AppliedRow(msgspec.Struct, frozen=True):
    """A row of the table that was applied: in which cell (from 0), and on which line of the
    original (from 1)."""

    row: str
    cell: int
    line: int


_TOO_LONG = say("notebook-too-long")
_STATEMENT = say("statement")


class Left(msgspec.Struct, frozen=True):
    """What was left as it is: in which cell (from 0), on which line (from 1), what, and why.

    `supplied` says that the compatibility module in the student kernel has the name.
    """

    cell: int
    line: int
    what: Text
    why: Text
    supplied: bool = False


class Migration(msgspec.Struct, frozen=True):
    """Cells in today's spelling.

    Line n of cell c begins with what was on line `lines[c][n - 1]` of the cell that was given.
    """

    sources: tuple[str, ...]
    lines: tuple[Sequence[int], ...]
    changes: tuple[AppliedRow, ...]
    left: tuple[Left, ...]

    @property
    def dialect(self) -> Dialect:
        """The dialect that the cells were written in, as far as the table can tell."""
        gone = {each.what.english for each in self.left}
        return recognise(
            frozenset(change.row for change in self.changes),
            tuple(each.dialects for each in names_gone() if each.name in gone),
        )


class _Cell:
    """One cell on its way: what Python's parser reads, and why it reads nothing."""

    def __init__(self, source: str, number: int, is_read: bool) -> None:
        self.source = source
        self.number = number
        self.readable = source
        self.module = ast.Module(body=[], type_ignores=[])
        self.masked = False
        self.problem = NOTHING
        if is_foreign(source) and not is_written(source):
            return
        if not is_read:
            self.problem = _TOO_LONG
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
            self.problem = problem.reason


def migrate_cells(sources: Sequence[str], *, thorough: bool = False) -> Migration:
    """Rewrite code cells, each by itself, into the dialect that the table ends with.

    Nothing is executed and nothing is joined. A cell that is not Python, or not within bounds,
    comes back as it is and is listed in `left`. What is in today's spelling does not change.
    Where it is to be `thorough`, names are listed too that are nowhere in today's TVM.
    """
    cells = list(_cells(sources))
    names = ImportedNames(cell.module for cell in cells)
    budget = _Budget()
    done: list[tuple[str, Sequence[int]]] = []
    changes: list[AppliedRow] = []
    left: list[Left] = []
    for cell in cells:
        if cell.problem:
            left.append(Left(cell.number, 1, say("the-cell"), cell.problem))
        edits, notes = _edits_of(cell, names, budget)
        left.extend(notes)
        if thorough:
            left.extend(_unknown(cell, names, notes))
        done.append(apply(cell.source, edits) if edits else _unchanged(cell.source))
        changes.extend(_changes(cell, edits) if edits else ())
    texts, lines = tuple(text for text, _ in done), tuple(each for _, each in done)
    return Migration(texts, lines, tuple(changes), tuple(left))


def respell_cells(sources: Sequence[str]) -> Respelling:
    """Return the dialect of code cells, and those that are spelt otherwise today."""
    migration = migrate_cells(sources)
    dialect = _dialect_of(migration)
    if dialect == CURRENT:
        return Respelling()
    found = [(each.cell, each.line, by_id()[each.row].was) for each in migration.changes]
    found += [(each.cell, each.line, each.what.english) for each in migration.left]
    pairs = zip(sources, migration.sources, migration.lines, strict=True)
    return Respelling(
        cast("report.Dialect", dialect),
        tuple(
            Respelt(cell, new, runs_of(lines))
            for cell, (old, new, lines) in enumerate(pairs)
            if new != old
        ),
        OldSpelling(*min(found)),
    )


def _dialect_of(migration: Migration) -> Dialect:
    """Return a notebook's dialect. What IPython takes in every one, such as a late import from
    `__future__`, says nothing."""
    told = [change for change in migration.changes if by_id()[change.row].kind != "text"]
    return msgspec.structs.replace(migration, changes=tuple(told)).dialect


def _unknown(cell: _Cell, names: ImportedNames, notes: Sequence[Left]) -> Iterator[Left]:
    """Yield the names of a cell that nobody knows, without those of which something is said."""
    said = {(each.line, each.what.english) for each in notes}
    for line, written in unknown_names(cell.module, names):
        if (line, written) not in said:
            yield Left(cell.number, line, foreign(written), UNKNOWN)


class _Budget:
    """What is left of the work on a whole notebook."""

    def __init__(self) -> None:
        self._text, self._nodes = TEXT_LIMIT, WORK_LIMIT

    def take(self, text: str, statement: Statement) -> bool:
        """Say whether there is enough for a statement. After the first that is too much, no."""
        self._text -= len(text)
        if self._text >= 0:
            self._nodes -= work_of(statement.nodes)
        if self._nodes < 0:
            self._text = -1
        return self._text >= 0


def _cells(sources: Sequence[str]) -> Iterator[_Cell]:
    """Yield the cells; those that come after too much code are not read."""
    room = CODE_LIMIT
    for number, source in enumerate(sources):
        room -= len(source) if len(source) <= CELL_LIMIT else 0
        yield _Cell(source, number, is_read=room >= 0)


def _unchanged(source: str) -> tuple[str, Sequence[int]]:
    return source, range(1, source.count("\n") + 2)


def _read(source: str) -> ast.Module:
    if "\r" in source.replace("\r\n", ""):
        raise NotParsedError(say("cell-has-line-ends-own-kind"))
    return parse(source)


def _edits_of(cell: _Cell, names: ImportedNames, budget: _Budget) -> tuple[list[Edit], list[Left]]:
    """Return the edits of a cell, and what is left."""
    edits: list[Edit] = []
    left: list[Left] = []
    if not cell.module.body and (cell.problem or not cell.masked):
        return edits, left
    lines = cell.readable.split("\n")
    offsets = Offsets(cell.source)
    if cell.masked and not cell.problem:
        row = by_id()["escaped-comment"]
        edits.extend(Edit(at, at + 1, 0, "", row.id) for at in escaped_comments(cell.source))
    for statement in statements(cell.module):
        text = "\n".join(lines[statement.first - 1 : statement.last]) + "\n"
        if not has_word(text):
            continue
        if not budget.take(text, statement):
            left.append(Left(cell.number, statement.first, say("rest"), _TOO_LONG))
            break
        found, notes = _rewrite(cell, statement, text, offsets, names, budget)
        edits.extend(found)
        left.extend(notes)
    if not cell_magic(cell.source):
        edits.extend(move_future_imports(cell.source, cell.module, offsets))
    return without_overlaps(edits), left


def _rewrite(
    cell: _Cell,
    statement: Statement,
    text: str,
    offsets: Offsets,
    names: ImportedNames,
    budget: _Budget,
) -> tuple[list[Edit], list[Left]]:
    try:
        tree = parse_exactly(text, statement.nodes)
        page = Rewriting(tree, cell.source, offsets, statement.first, names)
        page.tree.visit(Walk(page))
        notes = list(_rewrite_programs(cell, page, names, budget))
    except NotParsedError as problem:
        return [], [Left(cell.number, statement.first, _STATEMENT, problem.reason)]
    except RecursionError:
        return [], [Left(cell.number, statement.first, _STATEMENT, say("nested-too-deeply"))]
    supplied = {each.name for each in names_gone() if each.supplied}
    notes += [
        Left(cell.number, line, what, why, what.english in supplied)
        for line, what, why in page.left
    ]
    return page.edits, notes


def _rewrite_programs(
    cell: _Cell, page: Rewriting, names: ImportedNames, budget: _Budget
) -> Iterator[Left]:
    """Rewrite the programs in texts that `from_source` is given; yield what is left of them."""
    for program in page.programs:
        inner = _Cell(program.text, cell.number, is_read=True)
        edits, notes = _edits_of(inner, names, budget)
        what, line = foreign("from_source"), program.line
        if inner.problem:
            yield Left(cell.number, line, what, inner.problem)
        elif program.start is None:
            if edits or notes:
                yield Left(cell.number, line, what, say("text-has-escapes"))
        else:
            page.edits.extend(each.moved(program.start) for each in edits)
            for note in notes:
                yield msgspec.structs.replace(note, line=note.line + line - 1)


def _changes(cell: _Cell, edits: list[Edit]) -> list[AppliedRow]:
    """Return each row once for each line that it changed."""
    offsets = Offsets(cell.source)
    places = dict.fromkeys((edit.row, offsets.line(edit.start)) for edit in edits)
    return [AppliedRow(row, cell.number, line) for row, line in places]


_NAME = re.compile(r"[^\W\d]\w*")


def has_word(text: str) -> bool:
    """Say whether a statement has a word that a row or a name of the table might apply to."""
    names, signs = _words()
    found = (match.group() in names for match in _NAME.finditer(text))
    return any(found) or any(sign in text for sign in signs)


@cache
def _words() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of the table, and what else it looks for, such as a name with a bracket."""
    words = {word for row in rows() for word in row.words}
    words |= {each.name.rsplit(".", 1)[-1] for each in names_gone()}
    names = frozenset(word for word in words if word.isidentifier())
    return names, tuple(sorted(words - names))
