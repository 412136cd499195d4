"""Notebooks in an earlier spelling of TVM: run in today's, and told of in the student's own words.

Nothing of a notebook in today's spelling is touched.
"""

from __future__ import annotations

import copy
from typing import Final, Literal, cast

import msgspec
from nbformat import NotebookNode

from grader.dialects.migration import Migration, migrate_cells
from grader.dialects.table import CURRENT, by_id
from grader.errors import UsageError
from grader.execute.result import Execution
from grader.language import say
from grader.messages import Capture, CaptureFailure
from grader.report import CellProblem, Dialect
from grader.submission import first_lines

Accepted = Literal["auto", "current"]
"""Which notebooks are graded: those in any spelling, or only those in today's."""

TODAY: Final = "current"


class Text(msgspec.Struct, frozen=True):
    """A cell that is run: the student's text and today's, and where each line of that was.

    `first` is the line of the file on which the cell begins, 1 in a notebook.
    """

    written: tuple[str, ...]
    run: tuple[str, ...]
    lines: tuple[int, ...]
    first: int = 1

    def line(self, number: int) -> int:
        """Return the student's line for one that IPython counts: it drops empty ones at the top."""
        dropped = next((index for index, line in enumerate(self.run) if line.strip()), 0)
        return self._original(number + dropped) + self.first - 1

    def own_line(self, number: int) -> int:
        """Return the student's line for one of the cell as it is run."""
        return self._original(number) + self.first - 1

    def _original(self, number: int) -> int:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else number

    def own_words(self, message: str) -> str:
        """Put the student's lines where a message has lines that were rewritten.

        A message that had to be cut because of them has MESSAGE_LENGTH characters.
        """
        if self.run == self.written:
            return message
        for line, origin in zip(self.run, self.lines, strict=True):
            ours, theirs = line.strip(), self.written[origin - 1].strip()
            if ours != theirs and len(ours) >= _TELLING and ours in message:
                message = message.replace(ours, theirs)
                if len(message) > MESSAGE_LENGTH:
                    return message[: MESSAGE_LENGTH - 1] + "…"
        return message


MESSAGE_LENGTH = 500
"""Longest message that has the student's lines in it, in characters."""

_TELLING = 8
"""Characters that a line must have to be known again in a message."""


class Spelling(msgspec.Struct, frozen=True):
    """A notebook as it is run, and the way back. `texts` are of the cells that run."""

    notebook: NotebookNode
    dialect: Dialect
    texts: tuple[Text, ...]

    @property
    def is_old(self) -> bool:
        """Whether the notebook was written for an earlier TVM."""
        return self.dialect != TODAY

    def own_words(self, execution: Execution) -> Execution:
        """Return what came out with the student's own lines, and the dialect."""
        return msgspec.structs.replace(
            execution,
            dialect=self.dialect,
            problems=tuple(self._problem(each) for each in execution.problems),
            captures=tuple(self._capture(each) for each in execution.captures),
        )

    def _problem(self, problem: CellProblem) -> CellProblem:
        text = self._text(problem.cell)
        if text is None:
            return problem
        line = None if problem.line is None else text.line(problem.line)
        message = text.own_words(problem.message)
        return msgspec.structs.replace(problem, line=line, message=message)

    def _capture(self, capture: Capture | CaptureFailure) -> Capture | CaptureFailure:
        text = self._text(capture.cell)
        if text is None or isinstance(capture, Capture):
            return capture
        line = None if capture.line is None else text.own_line(capture.line)
        message = text.own_words(capture.message)
        return msgspec.structs.replace(capture, line=line, message=message)

    def _text(self, cell: int) -> Text | None:
        return self.texts[cell - 1] if 0 < cell <= len(self.texts) else None


def respell(notebook: NotebookNode, accepted: Accepted = "auto") -> Spelling:
    """Bring a notebook to today's spelling, cell by cell; one that has it stays as it is.

    Raises UsageError for a notebook that is not `accepted`.
    """
    places = [
        index
        for index, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and cell.source.strip()
    ]
    sources = tuple(notebook.cells[place].source for place in places)
    migration = migrate_cells(sources)
    dialect = dialect_of(migration)
    if dialect == TODAY:
        lines = tuple(tuple(range(1, source.count("\n") + 2)) for source in sources)
        return Spelling(notebook, TODAY, _texts(notebook, sources, sources, lines))
    if accepted != "auto":
        raise _refusal(migration, dialect, first_lines(notebook))
    respelt = copy.deepcopy(notebook)
    for place, source in zip(places, migration.sources, strict=True):
        respelt.cells[place].source = source
    texts = _texts(notebook, sources, migration.sources, migration.lines)
    return Spelling(respelt, dialect, texts)


def dialect_of(migration: Migration) -> Dialect:
    """Return a notebook's dialect. What IPython takes in every one, such as a late import from
    `__future__`, says nothing."""
    told = [change for change in migration.changes if by_id()[change.row].kind != "text"]
    dialect = msgspec.structs.replace(migration, changes=tuple(told)).dialect
    return TODAY if dialect == CURRENT else cast("Dialect", dialect)


def _texts(
    notebook: NotebookNode,
    written: tuple[str, ...],
    run: tuple[str, ...],
    lines: tuple[tuple[int, ...], ...],
) -> tuple[Text, ...]:
    firsts = first_lines(notebook) or (1,) * len(written)
    return tuple(
        Text(tuple(old.split("\n")), tuple(new.split("\n")), origins, first)
        for old, new, origins, first in zip(written, run, lines, firsts, strict=True)
    )


def _refusal(migration: Migration, dialect: Dialect, firsts: tuple[int, ...]) -> UsageError:
    found = [(each.cell, each.line, by_id()[each.row].was) for each in migration.changes]
    found += [(each.cell, each.line, each.what) for each in migration.left]
    cell, line, what = min(found)
    return UsageError(
        say(
            "The notebook is written for TVM as it was in {dialect}: code cell {cell}, line {line}"
            " has `{what}`.",
            dialect=dialect,
            cell=cell + 1,
            line=line + (firsts[cell] - 1 if firsts else 0),
            what=what,
        ),
        say("Bring it to today's spelling with `grader migrate`, or accept it: --dialect auto."),
    )
