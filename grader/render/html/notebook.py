"""The notebook as it was run, with what the report says of a cell beside the cell."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from grader.language import say
from grader.render import wording
from grader.render.findings import is_lost, place_of
from grader.render.html.sections import CellAnchors, part_anchor, standing
from grader.render.html.text import (
    Element,
    Headings,
    Line,
    coloured_lines,
    plain_lines,
    read_markdown,
)
from grader.render.speech import tell
from grader.report import Cell, CellOutput, CellProblem, Part, Report, Verdict, image_size

READ = 100_000
READ_LISTINGS = 60_000
READ_MARKDOWN = 24_000
"""Characters of code that are coloured in all, of listings among outputs, and of text that are read
as Markdown: no hostile notebook takes more than a few seconds. The rest is shown as plain text."""

LONG, LARGE = 18, 2_000
"""Lines and characters of an output above which it is folded."""

_LABELS = {
    "stdout": say("printed"),
    "stderr": say("printed-as-error"),
    "result": say("result"),
    "error": say("error-2"),
    "listing": say("code-that-shown"),
}
_WORST_FIRST: tuple[Verdict, ...] = ("failed", "partial", "not_graded", "passed")
_FOLDED = say("cell-handout"), say("cells-handout")
_OUTLINED, _HEADING_LENGTH = 3, 60
"""Most headings of folded cells that are listed, and how much of each, in characters."""

_LINES = say("count-line"), say("lines")


class ShownOutput(NamedTuple):
    """An output: `text`, an image, or `lines` of a listing; `folded` says what is folded."""

    kind: str
    label: str
    text: str
    folded: str
    width: int = 0
    height: int = 0
    lines: tuple[Line, ...] = ()


class OwnCell(NamedTuple):
    """A link to a cell that is not the handout's; the mark of its findings, empty without any."""

    anchor: str
    number: str
    label: str
    verdict: str
    mark: str


class MarginNote(NamedTuple):
    """What is said beside a cell: an error, or what became of a part that was built in it.

    `anchor` is the place on the page where more is said, or empty.
    """

    verdict: str
    mark: str
    title: str
    points: str
    texts: tuple[str, ...]
    hint: str
    anchor: str


class CodeLine(NamedTuple):
    """A line of code: its number, whether a finding names it, and its pieces."""

    number: int
    is_marked: bool
    pieces: Line


class CellView(NamedTuple):
    """A cell, as the templates want it: text has `elements`, code has `lines`."""

    kind: str
    anchor: str
    label: str
    number: int | None
    elements: tuple[Element, ...]
    lines: tuple[CodeLine, ...]
    outputs: tuple[ShownOutput, ...]
    findings: tuple[MarginNote, ...]


class Notebook:
    """Makes views of a report's cells."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._headings = Headings(base=2)
        self._unread = {"code": READ, "listing": READ_LISTINGS, "markdown": READ_MARKDOWN}
        self._findings: dict[int, list[MarginNote]] = {}
        for problem in report.problems:
            self._findings.setdefault(problem.cell, []).append(_error(problem, report))
        for place, part in enumerate(report.parts, start=1):
            if part.origin is not None:
                self._findings.setdefault(part.origin.cell, []).append(_part(part, place))
        self._marked = {(each.cell, each.line) for each in report.problems}
        self._anchors = CellAnchors(report)

    def is_folded(self, cell: Cell) -> bool:
        """Say whether a cell is the handout's, and nothing is to be said of it."""
        return cell.given and not (cell.number and cell.number in self._findings)

    def outline(self, cells: tuple[Cell, ...]) -> str:
        """Return what is said of cells of the handout that are folded: their first headings."""
        counted = wording.counted(len(cells), *_FOLDED)
        headings = [each for cell in cells if cell.kind == "markdown" for each in _headings(cell)]
        return ": ".join(filter(None, (counted, " · ".join(headings[:_OUTLINED]))))

    def own_cells(self, cells: Iterable[Cell]) -> Iterator[OwnCell]:
        """Yield a link to each of the cells that is code, and not the handout's."""
        for cell in cells:
            anchor = self._anchors.at(cell)
            if not anchor or cell.given:
                continue
            found = {each.verdict for each in self._findings.get(cell.number or 0, ())}
            worst = next((each for each in _WORST_FIRST if each in found), None)
            label = tell("code-cell", cell=cell.number or 0)
            mark = "" if worst is None else wording.MARKS[worst]
            yield OwnCell(anchor, str(cell.number), label, worst or "", mark)

    def full(self, cell: Cell) -> CellView:
        """Return a cell with everything; code is coloured, Markdown is read."""
        self._unread[cell.kind] -= len(cell.source)
        is_read = self._unread[cell.kind] >= 0
        if cell.kind == "markdown":
            return self._text(
                cell, read_markdown(cell.source, self._headings) if is_read else _as_it_is(cell)
            )
        lines = coloured_lines(cell.source) if is_read else plain_lines(cell.source)
        return self._code(cell, lines, tuple(_output(each, self._read) for each in cell.outputs))

    def plain(self, cell: Cell) -> CellView:
        """Return a cell as plain text, and without its images."""
        if cell.kind == "markdown":
            return self._text(cell, _as_it_is(cell))
        texts = tuple(_output(output) for output in cell.outputs if output.kind != "image")
        return self._code(cell, plain_lines(cell.source), texts)

    def cut(self, cell: Cell) -> CellView:
        """Return a cell with nothing but what is said of it."""
        note = tell("left-out-here-page-would-become-too")
        if cell.kind == "markdown":
            return self._text(cell, (Element("text", note),))
        return self._code(cell, plain_lines(note), ())

    def _read(self, listing: str) -> tuple[Line, ...]:
        """Return the lines of a listing, coloured as long as there is time for it."""
        self._unread["listing"] -= len(listing)
        return (coloured_lines if self._unread["listing"] >= 0 else plain_lines)(listing)

    def _text(self, cell: Cell, elements: tuple[Element, ...]) -> CellView:
        return CellView(cell.kind, "", "", None, elements, (), (), ())

    def _code(
        self, cell: Cell, lines: tuple[Line, ...], outputs: tuple[ShownOutput, ...]
    ) -> CellView:
        number = cell.number or 0
        starts = self._report.submission.starts
        first = starts[number - 1] if 0 < number <= len(starts) else 1
        return CellView(
            kind="code",
            anchor=self._anchors.at(cell),
            label=tell("code-cell", cell=number) if number else "",
            number=cell.number,
            elements=(),
            lines=tuple(
                CodeLine(place, (number, place) in self._marked, pieces)
                for place, pieces in enumerate(lines, start=first)
            ),
            outputs=outputs,
            findings=tuple(self._findings.get(number, ())) if number else (),
        )


def _headings(cell: Cell) -> Iterator[str]:
    """Yield the headings of a text, as words; what is fenced is code, with its remarks."""
    is_fenced = False
    for line in cell.source.split("\n"):
        is_fenced ^= line.startswith("```")
        if line.startswith("#") and not is_fenced:
            yield wording.plain(line.strip("# *`").replace("`", ""), _HEADING_LENGTH)


def _as_it_is(cell: Cell) -> tuple[Element, ...]:
    return (Element("pre", cell.source),)


def _output(
    output: CellOutput, read: Callable[[str], tuple[Line, ...]] = plain_lines
) -> ShownOutput:
    if output.kind == "image":
        width, height = image_size(output.text) or (0, 0)
        return ShownOutput("image", "", output.text, "", width, height)
    label = tell(_LABELS[output.kind])
    text = output.text
    if output.left_out and output.kind != "listing":
        kinds = ", ".join(output.left_out)
        note = tell("not-kept-in-report", kinds=kinds)
        text = f"{text}\n{note}".strip()
    lines = text.count("\n") + 1
    folded = ""
    if lines > LONG or len(text) > LARGE:
        counted = wording.counted(lines, *_LINES)
        folded = tell("kind-lines", kind=label, lines=counted)
    if output.kind == "listing":
        return ShownOutput("listing", label, "", folded, lines=read(text))
    return ShownOutput(output.kind, label, text, folded)


def _error(problem: CellProblem, report: Report) -> MarginNote:
    return MarginNote(
        verdict="failed",
        mark=wording.MARKS["failed"],
        title=place_of(problem, report),
        points="",
        texts=(": ".join(filter(None, (problem.error, problem.message))),),
        hint=tell(problem.hint),
        anchor="",
    )


def _part(part: Part, place: int) -> MarginNote:
    verdict = standing(part.score, part.max_score)
    lost = [check for check in part.checks if is_lost(check)]
    return MarginNote(
        verdict=verdict,
        mark=wording.MARKS[verdict],
        title=tell(part.title),
        points=wording.points_of(part.score, part.max_score),
        texts=tuple(dict.fromkeys(tell(check.reason or check.title) for check in lost)),
        hint=next((tell(check.hint) for check in lost if check.hint), ""),
        anchor=part_anchor(place),
    )
