"""What the gradebook has of an attempt, entry by entry: gradings, adjustments, markings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

import msgspec

from grader.language import Text, foreign, in_clauses, say
from grader.lateness import NONE

_HUNDREDTH = Decimal("0.01")


class Value(msgspec.Struct, frozen=True):
    """Base of what the gradebook hands out."""


class PartPoints(Value, frozen=True):
    """What a grading gave for one part. `open` are points that a person has yet to give."""

    id: str
    score: Decimal
    max_score: Decimal
    open: Decimal = NONE


class Grading(Value, frozen=True):
    """What a run of the grader gave. What is not `settled` is to be graded again."""

    id: int
    score: Decimal
    max_score: Decimal
    parts: tuple[PartPoints, ...]
    settled: bool
    graded: datetime
    grader: str


class Chosen(Value, frozen=True):
    """An item of a rubric that was chosen, as it was then: what it says, and its points."""

    id: str
    text: str
    points: Decimal
    texts: dict[str, str] = {}


class Marking(Value, frozen=True):
    """What a person chose of a part's rubric, and what they said besides."""

    items: tuple[Chosen, ...] = ()
    comment: str = ""

    @property
    def reason(self) -> Text:
        """The items with their points, and the comment."""
        items = (
            say(
                "{item} ({points})", item=foreign(each.text, each.texts), points=signed(each.points)
            )
            for each in self.items
        )
        said = in_clauses(items) if self.items else say("no item of the rubric")
        return in_clauses((said, foreign(self.comment))) if self.comment else said


class Adjustment(Value, frozen=True):
    """Points that are added, or a factor that is multiplied by, to a part or to all if it is empty.

    `takes_back` is the number of another adjustment, which then counts as little as this one.
    `marking` is what the points were given for, where a person has marked the part.
    """

    id: int
    part: str
    points: Decimal | None
    factor: Decimal | None
    takes_back: int | None
    reason: str
    who: str
    recorded: datetime
    marking: Marking | None = None


class Attempt(Value, frozen=True):
    """One file that was handed in. `number` counts a student's attempts at an assignment from 1.

    `handed_in` is None where nobody has said when that was; `gradings` are in order.
    """

    id: int
    number: int
    name: str
    sha256: str
    handed_in: datetime | None
    recorded: datetime
    gradings: tuple[Grading, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()

    def given(self, part: str) -> tuple[Adjustment, ...]:
        """Return the entries that give a part points, in order; () where it is not marked."""
        return entries_of(self.adjustments, part)


def valid(adjustments: Iterable[Adjustment]) -> tuple[Adjustment, ...]:
    """Return the adjustments that count: those that nobody took back."""
    every = tuple(adjustments)
    undone = {each.takes_back for each in every}
    return tuple(each for each in every if each.takes_back is None and each.id not in undone)


def entries_of(adjustments: Iterable[Adjustment], part: str) -> tuple[Adjustment, ...]:
    """Return the adjustments that count and give points to a part, in order."""
    found = (each for each in valid(adjustments) if each.part == part)
    return tuple(each for each in found if each.points is not None)


class Extension(Value, frozen=True):
    """A later due date for one student; without a date it takes back those before it."""

    due: datetime | None
    reason: str
    who: str
    recorded: datetime


def show(points: Decimal) -> str:
    """Return points with at most two decimals and no zeros at the end: 40, 37.5, 33.33."""
    text = format(rounded(points), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(points: Decimal) -> str:
    """Return points with their sign: +3, -0.5."""
    return f"{'+' if points >= 0 else ''}{show(points)}"


def rounded(points: Decimal) -> Decimal:
    """Return points to a hundredth; half of one counts as a whole."""
    return points.quantize(_HUNDREDTH, ROUND_HALF_UP) + NONE
