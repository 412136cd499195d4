"""What came out of running a notebook."""

import re
from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec
from nbformat import NotebookNode

from grader.language import NOTHING, Text, say
from grader.messages.kernel import Capture, CaptureFailure
from grader.reading.submission import is_run
from grader.report import CellCode, CellProblem, Dialect


class LostCell(msgspec.Struct, frozen=True):
    """A code cell that did not run to its end, with its text: what it defines may not be there.

    One that did is `unsolved` if nothing but a placeholder is in it.
    `error` and `message` are those that it ended in, `line` is where; empty for a cell that was
    stopped or was not run. `advice` is what to do, `code` what it has to do with. `called` is the
    text of files that the notebook writes and this cell runs or imports. Of a script, `line` is
    that of the file, on whose line `first` the cell begins. A cell `is_given` that stands in the
    handout as it is. `after` is the text of the cells behind it that ran, up to the next lost one.
    """

    cell: int
    source: str
    fate: Literal["failed", "stopped", "not_run", "unsolved"]
    error: str = ""
    message: str = ""
    line: int | None = None
    advice: Text = NOTHING
    code: CellCode = "error"
    called: str = ""
    first: int = 1
    is_given: bool = False
    after: str = ""

    @property
    def row(self) -> int | None:
        """The line of its text, from 1, where it ended in an error."""
        return None if self.line is None else self.line - self.first + 1


class Written(NamedTuple):
    """Cells that define nothing in the notebook's namespace, or not all of it, by their numbers.

    `texts` are those that are no code and quote none, counted among all cells. `ran` are the code
    cells that ran to their end.
    """

    texts: Mapping[int, str] = MappingProxyType({})
    ran: Mapping[int, str] = MappingProxyType({})


class Raised(msgspec.Struct, frozen=True):
    """Where the error of a cell was raised in a function of an earlier cell, `within`."""

    cell: int
    within: int
    line: int


class Execution(msgspec.Struct, frozen=True):
    """A notebook that was run.

    `notebook` is the executed copy, with the student's own output and tracebacks. Code cells are
    counted from 1 and as Jupyter's "Run all" counts them: cells without text do not count. `cells`
    is their number, `executed` how many ran to their end without an error. `captures` are in order
    of arrival, `notes` are sentences for the student about what ended the notebook early.
    `dialect` says in which spelling of TVM's names it was handed in; `notebook` is in today's.
    `peak` is how many bytes of memory its kernel has held at most, as far as was looked. `stopped`
    are the cells that were stopped, `begun` is the number of the last cell that was begun. `raised`
    are places of problems in other cells. `exited` is the last cell where it ended by sys.exit():
    no problem, unless something behind that call is missing. `firsts` are the lines of a script on
    which its cells begin.
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
    raised: tuple[Raised, ...] = ()
    exited: int | None = None
    firsts: tuple[int, ...] = ()

    @property
    def written(self) -> Written:
        """What the notebook says that did not fail."""
        cells = enumerate(self.notebook.cells, start=1)
        texts = {
            number: cell.source
            for number, cell in cells
            if cell.cell_type != "code" and "```" not in cell.source
        }
        lost = {each.cell for each in self.lost}
        codes = enumerate(self._codes, start=1)
        return Written(texts, {number: text for number, text in codes if number not in lost})

    @property
    def _codes(self) -> list[str]:
        return [each.source for each in self.notebook.cells if is_run(each)]

    @property
    def lost(self) -> tuple[LostCell, ...]:
        """The code cells that did not run to their end, or hold a placeholder alone, in order."""
        texts = self._codes
        problems = {problem.cell: problem for problem in self.problems}
        lost: list[LostCell] = []
        ran: dict[int, list[str]] = defaultdict(list)  # behind each of them
        for number, text in enumerate(texts, start=1):
            called = _called(text, texts[: number - 1])
            if number in self.stopped:
                lost.append(LostCell(number, text, "stopped", called=called))
            elif number > self.begun:
                lost.append(LostCell(number, text, "not_run", called=called))
            elif number in problems or number == self.exited:
                first = self.firsts[number - 1] if number <= len(self.firsts) else 1
                failed = _failed(problems.get(number), number, text, called)
                lost.append(msgspec.structs.replace(failed, first=first))
            elif _is_unsolved(text):
                lost.append(LostCell(number, text, "unsolved", called=called))
            else:
                ran[len(lost)].append(text)
        return tuple(
            msgspec.structs.replace(each, after="\n".join(ran[place]))
            for place, each in enumerate(lost, start=1)
        )


def _failed(problem: CellProblem | None, number: int, text: str, called: str) -> LostCell:
    """Return a cell that ended in a problem; without one it ended by sys.exit()."""
    if problem is None:
        advice = say("remove-sys-exit-here-what-comes-after")
        return LostCell(number, text, "failed", "SystemExit", "0", advice=advice, called=called)
    told = (problem.error, problem.message, problem.line, problem.hint, problem.code)
    return LostCell(number, text, "failed", *told, called=called)


PLACEHOLDER = re.compile(r"^[ \t]*\.\.\.[ \t]*(?:#.*)?$", re.MULTILINE)
"""A line that stands for a solution. TVM's parser refuses it."""

_IN_A_STUB = re.compile(r"[ \t]*(?:(?:\w{1,80}[ \t]*=[ \t]*)?(?:None|\.\.\.)[ \t]*)?(?:#.*)?")


def _is_unsolved(text: str) -> bool:
    """Say whether a cell is a placeholder and comments: one with a solution may keep its `...`."""
    lines = text.split("\n")
    has_placeholder = any("..." in line.partition("#")[0] for line in lines)
    return has_placeholder and all(map(_IN_A_STUB.fullmatch, lines))


_WRITTEN = re.compile(
    r"\s*%%(?:writefile|file)(?:[ \t]+-a)?[ \t]+\S{0,80}?([A-Za-z_]\w{0,79})\.py\b"
)
"""A cell that writes a file of Python. The text is a student's, and is not parsed here."""

_USED = re.compile(
    r"^[ \t]*(?:%run[ \t][^\n]{0,200}?\b(\w{1,80})\.py\b|(?:from|import)[ \t]+(\w{1,80}))",
    re.MULTILINE,
)


def _called(text: str, earlier: list[str]) -> str:
    """Return the text of files that earlier cells write, and that a cell runs or imports."""
    used = {found[1] or found[2] for found in _USED.finditer(text)}
    writing = [(_WRITTEN.match(each), each) for each in earlier] if used else []
    return "\n".join(each for found, each in writing if found is not None and found[1] in used)
