"""What the page shows of a part: its checks, what explains them, and where links lead."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from grader.language import Text, say
from grader.render import evidence, wording
from grader.render.findings import Cause, left_to_people, told_cause, told_together, worth
from grader.render.html.graph_drawing import Drawing, describe, draw
from grader.render.html.text import TextBlock, compare, is_web_link
from grader.render.speech import tell
from grader.report import (
    Bar,
    Bars,
    Block,
    Cell,
    Check,
    Diagnosis,
    Grid,
    Listing,
    Paragraph,
    Part,
    Report,
    Sample,
    Section,
    Step,
    Verdict,
    image_size,
)


def part_anchor(place: int) -> str:
    """Return the name of a part's place; parts are counted from 1."""
    return f"part-{place}"


class CellAnchors:
    """Knows which code cells have a place on the page: of each number the first one."""

    def __init__(self, report: Report) -> None:
        numbered = (cell for cell in reversed(report.cells) if cell.kind == "code")
        self._cells = {cell.number: cell for cell in numbered if cell.number}

    def of(self, number: int) -> str:
        """Return the name of a code cell's place, empty where there is no such cell."""
        return f"cell-{number}" if number in self._cells else ""

    def at(self, cell: Cell) -> str:
        """Return the name of the place that a cell is, empty where it is none."""
        number = cell.number or 0
        return self.of(number) if self._cells.get(number) is cell else ""


VERDICTS: dict[Verdict, Text] = {
    "passed": say("passed-2"),
    "partial": say("partly-passed"),
    "failed": say("failed"),
    "not_graded": say("not-graded"),
}

_ENLARGED = 112
"""Pixels that a small image is enlarged to."""

_SCORE_DIGITS = 4

_TITLE = 500
"""Characters of the titles of what comes first."""


class BarView(NamedTuple):
    """A bar: its name, its share of the width in percent, and its number in words."""

    label: str
    share: float
    text: str
    verdict: str


class BlockView(NamedTuple):
    """One block; what its `kind` does not have is empty."""

    kind: str
    text: str = ""
    bars: tuple[BarView, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class EvidenceView(NamedTuple):
    """A section of a part."""

    title: str
    blocks: tuple[BlockView, ...]


def evidence_view(section: Section) -> EvidenceView:
    """Return a section."""
    return EvidenceView(tell(section.title), tuple(map(_evidence_block, section.blocks)))


def _evidence_block(block: Block) -> BlockView:
    if isinstance(block, Paragraph):
        return BlockView("paragraph", tell(block.text))
    if isinstance(block, Bars):
        return BlockView("bars", bars=_bars(block))
    if isinstance(block, Grid):
        return _grid(block)
    assert isinstance(block, Listing)
    return BlockView("listing", evidence.code_of(block))


def _bars(bars: Bars) -> tuple[BarView, ...]:
    limit = evidence.limit_row(bars)
    rows = [_bar(each, bars, each.verdict or "own") for each in bars.bars]
    rows += [] if limit is None else [_bar(limit, bars, "pytorch")._replace(text="")]
    return tuple(rows)


def _bar(bar: Bar, bars: Bars, verdict: str) -> BarView:
    share = round(100 * evidence.share_of(bar.value, bars), 2)
    return BarView(tell(bar.label), share, tell(bar.text), verdict)


def _grid(grid: Grid) -> BlockView:
    head = tuple(map(tell, grid.head))
    rows = tuple(tuple(map(tell, row[: len(head)])) for row in grid.rows)
    return BlockView("grid", head=head, rows=rows)


class CheckView(NamedTuple):
    """A check: its verdict as a class, a mark and a word; its points, empty where it has none."""

    verdict: str
    mark: str
    word: str
    title: str
    points: str


class CheckGroup(NamedTuple):
    """Checks that are explained together."""

    checks: tuple[CheckView, ...]
    reason: str
    hint: str


class StepView(NamedTuple):
    """A step of the module, and what PyTorch has there."""

    status: str
    mark: str
    word: str
    name: str
    shape: str
    layer: str


class DiagnosisView(NamedTuple):
    """Where a module departs. `message` is empty where a check has said it already."""

    message: str
    advice: str
    steps: tuple[StepView, ...]
    link: str
    heading: str


class ScoreView(NamedTuple):
    """A class and its scores: as text, and as shares of the largest one in percent."""

    name: str
    own: str
    own_share: float
    pytorch: str
    pytorch_share: float
    note: str


class SampleView(NamedTuple):
    """A test image, enlarged to `width` by `height` pixels, and its scores."""

    image: str
    width: int
    height: int
    sentence: str
    scores: tuple[ScoreView, ...]


class FirstView(NamedTuple):
    """What to mend first; `anchor` is the place of the part that it is in."""

    anchor: str
    title: str
    said: str
    brings: str


class ReplyView(NamedTuple):
    """What somebody answered; `by` says who, when, and what it moved."""

    by: str
    text: str


class ObjectionView(NamedTuple):
    """What the student asked, and what was answered."""

    time: str
    text: str
    replies: tuple[ReplyView, ...]


class PartView(NamedTuple):
    """A part, as the templates want it. `folded` says why it is, empty where it is not.

    `ask` is the address where the student asks about it.
    """

    anchor: str
    folded: str
    title: str
    points: str
    share: float
    verdict: str
    origin: str
    origin_anchor: str
    groups: tuple[CheckGroup, ...]
    diagnosis: DiagnosisView | None
    sample: SampleView | None
    evidence: tuple[EvidenceView, ...]
    drawing: Drawing | None
    listing: tuple[str, ...]
    function: str
    diff: tuple[TextBlock, ...]
    objections: tuple[ObjectionView, ...] = ()
    ask: str = ""


def first_view(cause: Cause, report: Report) -> FirstView:
    """Return what is said of the first thing to mend."""
    return FirstView(
        anchor=part_anchor(cause.part + 1),
        title=wording.one_line(report.parts[cause.part].title, _TITLE),
        said=told_cause(cause, report),
        brings=worth(cause),
    )


def part_views(report: Report, missing: Collection[int] = ()) -> Iterator[PartView]:
    """Yield the parts in order; those at these places, from 0, are folded as there is nothing."""
    anchors, starts = CellAnchors(report), report.submission.starts
    for place, part in enumerate(report.parts, start=1):
        cell = "" if part.origin is None else anchors.of(part.origin.cell)
        view = part_view(part, part_anchor(place), cell, starts)
        people = left_to_people(part, report)
        if people:
            yield view._replace(origin=view.origin or people)
        else:
            is_folded = place - 1 in missing
            yield view._replace(folded=tell("nothing-grade-yet")) if is_folded else view


def part_view(
    part: Part, anchor: str, origin_anchor: str = "", starts: tuple[int, ...] = ()
) -> PartView:
    """Return a part; `anchor` is its place, `origin_anchor` that of the cell that built it.

    `starts` are the lines on which a script's cells begin.
    """
    origin, graph, scripts = part.origin, part.graph, part.scripts
    return PartView(
        anchor=anchor,
        folded="",
        title=tell(part.title),
        points=wording.points_of_part(part),
        share=share(part.score, part.max_score),
        verdict=standing_of(part),
        origin="" if origin is None else wording.built(origin, starts),
        origin_anchor=origin_anchor,
        groups=tuple(map(_group, told_together(part.checks))),
        diagnosis=None if part.diagnosis is None else _diagnosis(part.diagnosis, part),
        sample=None if part.sample is None else _sample(part.sample),
        evidence=tuple(map(evidence_view, part.sections)),
        drawing=None if graph is None else draw(graph, part.diagnosis),
        listing=() if graph is None else describe(graph),
        function="" if scripts is None else scripts.function,
        diff=() if scripts is None else compare(scripts.before, scripts.after),
    )


def forms(view: PartView) -> Iterator[PartView]:
    """Yield a part with everything, and then with less and less of what explains it."""
    yield view
    yield (view := view._replace(diff=()))
    yield (view := view._replace(drawing=None, listing=()))
    yield (view := view._replace(diagnosis=None, sample=None, evidence=()))
    yield (view := view._replace(groups=()))
    yield view._replace(objections=())


def share(score: float, maximum: float) -> float:
    """Return points in percent of what can be reached; a bar is never longer than full."""
    return round(100 * max(0.0, min(1.0, score / maximum)), 2) if maximum > 0 else 0.0


def standing(score: float, maximum: float) -> Verdict:
    """Return as a verdict whether points are missing."""
    if maximum <= 0 or score >= maximum:
        return "passed"
    return "partial" if score > 0 else "failed"


def standing_of(part: Part) -> Verdict:
    """Return as a verdict how a part stands: what a person has yet to mark is not graded."""
    is_open = part.open and not part.max_score
    return "not_graded" if is_open else standing(part.score, part.max_score)


def _group(same: list[Check]) -> CheckGroup:
    return CheckGroup(tuple(map(check_view, same)), tell(same[0].reason), tell(same[0].hint))


def check_view(check: Check) -> CheckView:
    """Return a check without its explanation."""
    points = wording.points_of(check.score, check.max_score) if check.max_score else ""
    word = tell(VERDICTS[check.verdict])
    return CheckView(check.verdict, wording.MARKS[check.verdict], word, tell(check.title), points)


# --- diagnosis ------------------------------------------------------------------------------------


def _diagnosis(diagnosis: Diagnosis, part: Part) -> DiagnosisView:
    is_told = wording.is_told(part)
    link = tell(diagnosis.link)
    is_link = is_web_link(link)
    return DiagnosisView(
        message="" if is_told else tell(diagnosis.message),
        advice="" if is_told else tell(diagnosis.advice),
        steps=tuple(step_views(diagnosis)),
        link=link if is_link else "",
        heading="" if is_link else link,
    )


def step_views(diagnosis: Diagnosis) -> Iterator[StepView]:
    """Yield the steps of a module that was run beside PyTorch; foreign text is on one line."""
    for step in diagnosis.steps:
        yield _step(step, diagnosis)


def _step(step: Step, diagnosis: Diagnosis) -> StepView:
    layer = wording.one_line(step.layer)
    if step.status == "wrong":
        layer = wording.layer_there(diagnosis, step)
    name = " = ".join(filter(None, map(wording.one_line, (step.variable, step.callee))))
    mark, word = wording.MARKS[step.status], tell(wording.STATUSES[step.status])
    return StepView(step.status, mark, word, name, wording.shape(step.shape), layer)


# --- an image and its scores ----------------------------------------------------------------------


def _sample(sample: Sample) -> SampleView:
    width, height = image_size(sample.image) or (0, 0)
    factor = max(1, _ENLARGED // max(width, height, 1))
    return SampleView(
        image=sample.image,
        width=width * factor,
        height=height * factor,
        sentence=wording.taken_for(sample),
        scores=tuple(_scores(sample)),
    )


def _scores(sample: Sample) -> Iterator[ScoreView]:
    pairs = list(zip(sample.scores, sample.pytorch_scores, strict=False))
    largest = max((abs(each) for pair in pairs for each in pair if each is not None), default=0.0)
    for place, (own, wanted) in enumerate(pairs):
        yield ScoreView(
            name=wording.class_name(sample, place),
            own=_number(own),
            own_share=share(own or 0.0, largest),
            pytorch=_number(wanted),
            pytorch_share=share(wanted, largest),
            note=tell("right-class") if place == sample.label else "",
        )


def _number(score: float | None) -> str:
    """Return a score with four digits; probabilities have four decimals."""
    if score is None:
        return tell("not-finite")
    is_small = abs(score) < 100
    return f"{score:.{_SCORE_DIGITS}f}" if is_small else f"{score:.{_SCORE_DIGITS}g}"
