"""What a gradebook makes of a report, as the page of the report shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from grader.language import NOTHING, Text
from grader.report import Part, Report


class DecisionItem(NamedTuple):
    """What a person says of a part, and what that gives: points, a factor, or neither."""

    text: Text
    points: float | None = None
    factor: float | None = None


class Decision(NamedTuple):
    """What a person decided of a part at one time: items of a rubric, or their own reason."""

    items: tuple[DecisionItem, ...]
    comment: Text = NOTHING


class DecidedPart(NamedTuple):
    """A part of which a person decided something, and what it stands at since then.

    `is_marked` says that its points are the person's alone: a report has them as open.
    """

    id: str
    points: float
    possible: float
    open: float
    is_marked: bool
    decisions: tuple[Decision, ...]


class ToldReply(NamedTuple):
    """What somebody answered, and the `points` that it moved; None where it moved none."""

    text: Text
    who: str
    time: str
    points: float | None = None


class ToldObjection(NamedTuple):
    """What a student asked about a part, or about the whole where `part` is empty."""

    part: str
    text: Text
    time: str
    replies: tuple[ToldReply, ...] = ()


class FinalGrade(NamedTuple):
    """A grade: `points` of `possible`, and how it comes about, a line for each step.

    The last line is the grade itself. `open` are points that a person has yet to give, which are in
    neither of the two. `parts` are those of which a person decided something. Where `is_told` is
    false the grade is not for the page: it would tell what is kept back, or is of all attempts.
    `objections` are what the student asked.
    """

    points: float
    possible: float
    open: float
    lines: tuple[Text, ...]
    is_told: bool = True
    parts: tuple[DecidedPart, ...] = ()
    objections: tuple[ToldObjection, ...] = ()

    @classmethod
    def only_marked(cls, parts: Iterable[DecidedPart]) -> FinalGrade | None:
        """Return what a person has marked, with no grade to tell; None where that is nothing.

        It is for the page of an attempt, which need not be the one that counts.
        """
        marked = tuple(each for each in parts if each.is_marked)
        return cls(0.0, 0.0, 0.0, (), is_told=False, parts=marked) if marked else None

    @property
    def marked(self) -> tuple[DecidedPart, ...]:
        """The parts that a person has marked: no check is in them, so they tell of none."""
        return tuple(each for each in self.parts if each.is_marked)

    @property
    def told(self) -> tuple[DecidedPart, ...]:
        """The parts that the page's reader may see as a person decided."""
        return self.parts if self.is_told else self.marked


def as_decided(report: Report, parts: Iterable[DecidedPart]) -> Report:
    """Return a report with the points that a person left these parts, also in its sums."""
    known = {each.id: each for each in parts}
    now = tuple(
        _decided(part, known[part.id]) if part.id in known else part for part in report.parts
    )
    score = sum(each.score for each in now) - sum(each.score for each in report.parts)
    most = sum(each.max_score for each in now) - sum(each.max_score for each in report.parts)
    return replace(
        report,
        parts=now,
        score=round(report.score + score, 6),
        max_score=round(report.max_score + most, 6),
    )


def _decided(part: Part, decided: DecidedPart) -> Part:
    return replace(part, score=decided.points, max_score=decided.possible, open=decided.open)
