"""`grader migrate`: a file in an older dialect of TVM becomes one in today's."""

import difflib
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from grader.cli.telling import printable, some_of, tell, words
from grader.dialects.table import CURRENT, by_id
from grader.files import read_existing, write_whole, writing
from grader.language import Text, counted, foreign, in_clauses, say
from grader.reading.cells import SIZE_LIMIT
from grader.reading.documents import Document, migrate_document


def run_migrate(
    old: Path, new: Path | None, output: Console, messages: Console, *, diff: bool = False
) -> bool:
    """Migrate one file; print what changed and what could not be. Returns whether all of it was.

    With `diff` the differences go to `output` and everything else to `messages`. Nothing is written
    without `new`. Raises GraderError when the file cannot be read or written.
    """
    document = migrate_document(read_existing(old, SIZE_LIMIT + 1), old.suffix.lower())
    told = messages if diff else output
    if diff:
        _print_differences(old.name, document, output)
    _print_summary(old.name, document, told)
    if new is not None:
        with writing(new, say("what-migrated")):
            write_whole(new, document.content)
        tell(told, say("written-title", path=str(new)))
    elif document.changed:
        tell(told, say("nothing-written-name-file"))
    return not document.migration.left


def _print_summary(name: str, document: Document, output: Console) -> None:
    migration = document.migration
    if migration.changes:
        output.print(_table_of_changes(document))
    if migration.left:
        output.print(_table_of_the_rest(document))
    if not migration.changes and not migration.left:
        same = say("nothing-change-dialect", name=name, dialect=CURRENT)
        tell(output, same)
        return
    count = len(migration.changes)
    changes = counted(count, say("change"), say("changes"))
    rest = say("nothing-left-as")
    if migration.left:
        rest = say("count-left-unchanged", count=len(migration.left))
    tell(
        output,
        say(
            "dialect-sentence",
            name=name,
            dialect=str(migration.dialect),
            changes=changes,
            rest=rest,
        ),
    )


def _table_of_changes(document: Document) -> Table:
    """List each row of the migration table once, with the places where it was applied."""
    table = _titled_table(say("changed"), say("was"), say("is"), say("where-2"))
    places: dict[str, list[Text]] = {}
    for change in document.migration.changes:
        known = places.setdefault(change.row, [])
        known.append(_place(document, change.cell, change.line, is_first=not known))
    for row_id, where in places.items():
        row = by_id()[row_id]
        shown = Styled(words(some_of(where, SHOWN_PLACES)))
        table.add_row(Styled(row.was), Styled(row.becomes), shown)
    return table


def _table_of_the_rest(document: Document) -> Table:
    table = _titled_table(say("left-unchanged"), say("what"), say("where-2"), say("why-2"))
    for left in document.migration.left:
        why = [left.why]
        if left.supplied:
            why.append(say("grader-run-supplies"))
        where = _place(document, left.cell, left.line)
        table.add_row(
            Styled(words(left.what)), Styled(words(where)), Styled(words(in_clauses(why)))
        )
    return table


def _titled_table(title: Text, *columns: Text) -> Table:
    return Table(*map(words, columns), title=words(title), title_justify="left")


def _place(document: Document, cell: int, line: int, *, is_first: bool = True) -> Text:
    """Say where something is, as editors count; after the `first`, lines are numbers alone."""
    if document.starts is None:
        return say("code-cell-line-2", cell=cell + 1, line=line)
    number = document.starts[cell] + line - 1
    return say("line-2", line=number) if is_first else foreign(str(number))


def _print_differences(name: str, document: Document, output: Console) -> None:
    """Print the differences of all cells, in the form that `patch` reads."""
    pairs = zip(document.before, document.migration.sources, strict=True)
    for number, (old, new) in enumerate(pairs):
        title = name if document.starts is not None else f"{name} code cell {number + 1}"
        first = 1 if document.starts is None else document.starts[number]
        for line in _unified(old, new, title, first):
            output.out(printable(line), highlight=False)


def _unified(old: str, new: str, title: str, first: int) -> list[str]:
    """Return a unified diff of a cell whose lines are counted from `first`."""
    lead = [""] * (first - 1)  # lines before the cell, which are the same
    lines = difflib.unified_diff(
        [*lead, *old.split("\n")], [*lead, *new.split("\n")], title, title, n=0, lineterm=""
    )
    return list(lines)


SHOWN_PLACES = 6
"""So many places of a change are named; in a diff all of them are."""
