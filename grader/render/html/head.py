"""The head of the page: the score, the points of every part, and the cells that failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from grader.language import say
from grader.render import wording
from grader.render.findings import place_of
from grader.render.html.anchors import CellAnchors, part_anchor
from grader.render.html.parts import share, standing
from grader.render.speech import tell
from grader.report import Part, Report

_POINT, _POINTS = say("{score} of {maximum} point"), say("{score} of {maximum} points")


class Score(NamedTuple):
    """The score: its numbers, a sentence that says them, and its share in percent."""

    number: str
    maximum: str
    sentence: str
    share: float
    verdict: str


class OverviewRow(NamedTuple):
    """A part in the overview; `anchor` is its place on the page."""

    anchor: str
    title: str
    points: str
    share: float
    verdict: str


class ProblemRow(NamedTuple):
    """A cell that failed; `anchor` is its place on the page, empty where it is not shown."""

    place: str
    anchor: str
    error: str
    message: str
    hint: str


def score(report: Report) -> Score:
    """Return the score of a report."""
    number, maximum = wording.points(report.score), wording.points(report.max_score)
    unit = _POINT if report.max_score == 1 else _POINTS
    return Score(
        number=number,
        maximum=maximum,
        sentence=tell(unit, score=number, maximum=maximum),
        share=share(report.score, report.max_score),
        verdict=standing(report.score, report.max_score),
    )


def overview(report: Report) -> Iterator[OverviewRow]:
    """Yield a row for each part."""
    for place, part in enumerate(report.parts, start=1):
        yield overview_row(part, part_anchor(place))


def overview_row(part: Part, anchor: str) -> OverviewRow:
    """Return the row of a part."""
    return OverviewRow(
        anchor=anchor,
        title=tell(part.title),
        points=wording.points_of(part.score, part.max_score),
        share=share(part.score, part.max_score),
        verdict=standing(part.score, part.max_score),
    )


def problem_rows(report: Report) -> Iterator[ProblemRow]:
    """Yield a row for each cell that ended in an error."""
    anchors = CellAnchors(report)
    for problem in report.problems:
        yield ProblemRow(
            place=place_of(problem, report),
            anchor=anchors.of(problem.cell),
            error=problem.error,
            message=problem.message,
            hint=tell(problem.hint),
        )
