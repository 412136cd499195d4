"""What came out of running a notebook."""

from typing import Literal

import msgspec
from nbformat import NotebookNode

from grader.language import NOTHING, Text
from grader.messages.kernel import Capture, CaptureFailure
from grader.report import CellProblem, Dialect

_REFUSED = frozenset({"loop_variable", "refused_module"})


class LostCell(msgspec.Struct, frozen=True):
    """A code cell that did not run to its end, with its text: what it defines may not be there.

    `error` and `message` are those that it ended in, `line` is where; empty for a cell that was
    stopped or was not run. `advice` is what to do where TVM has refused something.
    """

    cell: int
    source: str
    fate: Literal["failed", "stopped", "not_run"]
    error: str = ""
    message: str = ""
    line: int | None = None
    advice: Text = NOTHING


class Execution(msgspec.Struct, frozen=True):
    """A notebook that was run.

    `notebook` is the executed copy, with the student's own output and tracebacks. Code cells are
    counted from 1 and as Jupyter's "Run all" counts them: cells without text do not count. `cells`
    is their number, `executed` how many ran to their end without an error. `captures` are in order
    of arrival, `notes` are sentences for the student about what ended the notebook early.
    `dialect` says in which spelling of TVM's names it was handed in; `notebook` is in today's.
    `peak` is how many bytes of memory its kernel has held at most, as far as was looked. `stopped`
    are the cells that were stopped, `begun` is the number of the last cell that was begun.
    """

    notebook: NotebookNode
    problems: tuple[CellProblem, ...]
    cells: int
    executed: int
    captures: tuple[Capture | CaptureFailure, ...]
    notes: tuple[Text, ...]
    dialect: Dialect = "current"
    peak: int = 0
    stopped: tuple[int, ...] = ()
    begun: int = 0

    @property
    def lost(self) -> tuple[LostCell, ...]:
        """The code cells that did not run to their end, in order."""
        texts = [
            cell.source
            for cell in self.notebook.cells
            if cell.cell_type == "code" and cell.source.strip()
        ]
        problems = {problem.cell: problem for problem in self.problems}
        lost: list[LostCell] = []
        for number, text in enumerate(texts, start=1):
            problem = problems.get(number)
            if number in self.stopped:
                lost.append(LostCell(number, text, "stopped"))
            elif number > self.begun:
                lost.append(LostCell(number, text, "not_run"))
            elif problem is not None:
                advice = problem.hint if problem.code in _REFUSED else NOTHING
                told = (problem.error, problem.message, problem.line, advice)
                lost.append(LostCell(number, text, "failed", *told))
        return tuple(lost)
