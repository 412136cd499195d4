"""Notebooks in an earlier spelling of TVM: run in today's, and told of in the student's own words.

Nothing of a notebook in today's spelling is touched.
"""

import copy
from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from nbformat import NotebookNode

from grader.dialects.respelling import Respelling, Respelt
from grader.errors import UsageError
from grader.execute.problems import with_place
from grader.execute.result import Execution, Raised
from grader.language import say
from grader.messages.kernel import Capture, CaptureFailure, StepLine
from grader.report import CellProblem, Dialect

Accepted = Literal["auto", "current"]
"""Which notebooks are graded: those in any spelling, or only those in today's."""

TODAY: Final = "current"


class RunCell(msgspec.Struct, frozen=True):
    """A cell that is run: its text, and how it was brought to today's spelling, if it was.

    `first` is the line of the file on which the cell begins, 1 in a notebook. `changed` are lines
    of today with the student's own, without the blanks around them.
    """

    run: str
    respelt: Respelt | None = None
    changed: tuple[tuple[str, str], ...] = ()
    first: int = 1

    def line(self, number: int) -> int:
        """Return the student's line for one that IPython counts: it drops empty ones at the top."""
        text = self.run.lstrip()
        dropped = self.run[: len(self.run) - len(text)].count("\n") if text else 0
        return self._original(number + dropped) + self.first - 1

    def own_line(self, number: int) -> int:
        """Return the student's line for one of the cell as it is run."""
        return self._original(number) + self.first - 1

    def _original(self, number: int) -> int:
        if self.respelt is None or not 0 < number <= self.run.count("\n") + 1:
            return number
        return self.respelt.origin(number)

    def own_words(self, message: str) -> str:
        """Put the student's lines where a message has lines that were rewritten.

        A message that had to be cut because of them has MESSAGE_LENGTH characters.
        """
        for ours, theirs in self.changed:
            if ours in message:
                message = message.replace(ours, theirs)
                if len(message) > MESSAGE_LENGTH:
                    return message[: MESSAGE_LENGTH - 1] + "…"
        return message


MESSAGE_LENGTH = 500
"""Longest message that has the student's lines in it, in characters."""

_TELLING = 8
"""Characters that a line must have to be known again in a message."""


class Spelling(msgspec.Struct, frozen=True):
    """A notebook as it is run, and the way back. `texts` are of the cells that run.

    `is_script` says that lines are those of a file.
    """

    notebook: NotebookNode
    dialect: Dialect
    texts: tuple[RunCell, ...]
    is_script: bool = False

    @property
    def is_old(self) -> bool:
        """Whether the notebook was written for an earlier TVM."""
        return self.dialect != TODAY

    def own_words(self, execution: Execution) -> Execution:
        """Return what came out with the student's own lines, and the dialect."""
        raised = {each.cell: each for each in execution.raised}
        return msgspec.structs.replace(
            execution,
            dialect=self.dialect,
            firsts=tuple(each.first for each in self.texts) if self.is_script else (),
            problems=tuple(self._problem(e, raised.get(e.cell)) for e in execution.problems),
            captures=tuple(self._capture(each) for each in execution.captures),
        )

    def _problem(self, problem: CellProblem, raised: Raised | None) -> CellProblem:
        within = None if raised is None else self._text(raised.within)
        if raised is not None and within is not None:
            at = within.line(raised.line)
            problem = with_place(problem, raised.within, at, is_script=self.is_script)
        text = self._text(problem.cell)
        if text is None:
            return problem
        line = None if problem.line is None else text.line(problem.line)
        message = text.own_words(problem.message)
        return msgspec.structs.replace(problem, line=line, message=message)

    def _capture(self, capture: Capture | CaptureFailure) -> Capture | CaptureFailure:
        if isinstance(capture, Capture):
            return msgspec.structs.replace(capture, lines=tuple(map(self._line, capture.lines)))
        text = self._text(capture.cell)
        if text is None:
            return capture
        line = None if capture.line is None else text.own_line(capture.line)
        message = text.own_words(capture.message)
        return msgspec.structs.replace(capture, line=line, message=message)

    def _line(self, step: StepLine) -> StepLine:
        text = self._text(step.cell)
        if text is None:
            return step
        return StepLine(step.cell, text.own_line(step.line), text.own_words(step.text)[:120])

    def _text(self, cell: int) -> RunCell | None:
        return self.texts[cell - 1] if 0 < cell <= len(self.texts) else None


def respell(
    notebook: NotebookNode,
    found: Respelling,
    firsts: tuple[int, ...] = (),
    accepted: Accepted = "auto",
) -> Spelling:
    """Bring a notebook to today's spelling, cell by cell; one that has it stays as it is.

    `found` is what it comes to, `firsts` are the lines of a script on which its cells begin. Raises
    UsageError for a notebook that is not `accepted`.
    """
    places = _places(notebook)
    sources = [notebook.cells[place].source for place in places]
    if found.dialect == TODAY:
        return Spelling(notebook, TODAY, _texts(sources, firsts, {}), bool(firsts))
    if accepted != "auto":
        raise _refusal(found, firsts)
    respelt = copy.deepcopy(notebook)
    cells = {each.cell: each for each in found.cells}
    for cell, each in cells.items():
        respelt.cells[places[cell]].source = each.source
    return Spelling(respelt, found.dialect, _texts(sources, firsts, cells), bool(firsts))


def find_respelling(notebook: NotebookNode) -> Respelling:
    """Return what a notebook of the course's own comes to; a student's is the reader's to parse."""
    from grader.dialects.migration import respell_cells  # its parsers take long to import

    return respell_cells([notebook.cells[place].source for place in _places(notebook)])


def _places(notebook: NotebookNode) -> list[int]:
    return [
        index
        for index, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and cell.source.strip()
    ]


def _texts(
    sources: list[str], firsts: tuple[int, ...], cells: Mapping[int, Respelt]
) -> tuple[RunCell, ...]:
    return tuple(
        _text(source, cells.get(cell), first)
        for cell, (source, first) in enumerate(
            zip(sources, firsts or (1,) * len(sources), strict=True)
        )
    )


def _text(source: str, respelt: Respelt | None, first: int) -> RunCell:
    if respelt is None:
        return RunCell(source, first=first)
    written = source.split("\n")
    pairs = (
        (line.strip(), written[respelt.origin(number) - 1].strip())
        for number, line in enumerate(respelt.source.split("\n"), start=1)
    )
    changed = tuple(
        (ours, theirs) for ours, theirs in pairs if ours != theirs and len(ours) >= _TELLING
    )
    return RunCell(respelt.source, respelt, changed, first)


def _refusal(found: Respelling, firsts: tuple[int, ...]) -> UsageError:
    first = found.first
    assert first is not None  # of an earlier dialect there is one
    return UsageError(
        say(
            "notebook-written-for-tvm-as-in-code",
            dialect=found.dialect,
            cell=first.cell + 1,
            line=first.line + (firsts[first.cell] - 1 if firsts else 0),
            what=first.what,
        ),
        say("bring-todays-spelling-with-grader-migrate"),
    )
