"""Objections: what a student asks about a grade, what was answered, and what that moved.

A student writes to the course; an instructor enters it, so that no student says whose it is. The
text is a student's all the same: whoever shows it escapes it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal, get_args

from grader.errors import UsageError
from grader.gradebook.entries import (
    Adjustment,
    Attempt,
    PartPoints,
    Value,
    rounded,
    show,
    signed,
    valid,
)
from grader.language import Text, foreign, say
from grader.lateness import NONE
from grader.render.final_grade import DecidedPart, Decision, DecisionItem, ToldObjection, ToldReply


def decided_parts(attempt: Attempt, parts: Iterable[PartPoints]) -> tuple[DecidedPart, ...]:
    """Return the parts of which somebody decided something that counts.

    `parts` are those of the attempt's newest grading as they stand after all that was decided.
    """
    found = []
    open_before = {each.id for each in attempt.gradings[-1].parts if each.open}
    entries = valid(attempt.adjustments)
    for part in parts:
        own = tuple(_decision(each) for each in entries if each.part == part.id)
        if own:
            points, possible, open = map(float, (rounded(part.score), part.max_score, part.open))
            is_marked = part.id in open_before and not open
            found.append(DecidedPart(part.id, points, possible, open, is_marked, own))
    return tuple(found)


def _decision(entry: Adjustment) -> Decision:
    marking = entry.marking
    if marking is not None:
        items = (DecisionItem(foreign(e.text, e.texts), float(e.points)) for e in marking.items)
        return Decision(tuple(items), foreign(marking.comment))
    points, factor = (None if e is None else float(e) for e in (entry.points, entry.factor))
    return Decision((DecisionItem(foreign(entry.reason), points, factor),))


def told_time(moment: datetime) -> str:
    """Return a time as people write it, to the second, with its offset from UTC."""
    return moment.isoformat(" ", "seconds")


def _told_entry(entry: Adjustment) -> dict[str, str | Text]:
    reason = foreign(entry.reason) if entry.marking is None else entry.marking.reason
    when, number = told_time(entry.recorded), str(entry.id)
    return {"number": number, "who": entry.who, "time": when, "part": entry.part, "reason": reason}


def idle_line(entry: Adjustment) -> Text:
    """Return what is said of an adjustment of a part that is not in the grading."""
    return say("there-no-part-in-this-grading", **_told_entry(entry))


def adjustment_line(entry: Adjustment, points: Decimal) -> Text:
    """Return what is said of an adjustment, and of the points that its part, or all, have then."""
    told = {**_told_entry(entry), "points": show(points)}
    if entry.marking is not None:
        return say("part-marked-adjustment", **told)
    if entry.factor is not None:
        told["factor"] = format(entry.factor.normalize(), "f")
        if entry.part:
            return say("part-times-adjustment", **told)
        return say("all-times-adjustment", **told)
    told["change"] = signed(entry.points or NONE)
    if entry.part:
        return say("part-adjustment-by", **told)
    return say("all-adjustment-by", **told)


ObjectionState = Literal["open", "answered", "moved"]
STATES: Final[tuple[ObjectionState, ...]] = get_args(ObjectionState)

LONGEST: Final = 4_000
"""Most characters of an objection, and of a reply to it."""


class Reply(Value, frozen=True):
    """An answer; `adjustment` is the number of the adjustment that came with it, if any."""

    id: int
    text: str
    who: str
    recorded: datetime
    adjustment: int | None = None


class Objection(Value, frozen=True):
    """What a student asks about a part, or (empty) the whole, and who entered it."""

    id: int
    part: str
    text: str
    who: str
    recorded: datetime
    replies: tuple[Reply, ...] = ()

    def moved(self, adjustments: Iterable[Adjustment]) -> Decimal:
        """Return the points that it moved: by the adjustments of its replies that count."""
        own = {each.adjustment for each in self.replies}
        found = (each.points for each in valid(adjustments) if each.id in own)
        return sum((each for each in found if each is not None), NONE)

    def state(self, adjustments: Iterable[Adjustment]) -> ObjectionState:
        """Say how it stands, given all adjustments of the student's attempts."""
        if not self.replies:
            return "open"
        return "moved" if self.moved(adjustments) else "answered"


class NewObjection(Value, frozen=True):
    """An objection as it is entered; `student` is an id of the gradebook."""

    student: int
    slug: str
    part: str
    text: str


def checked_text(text: str) -> str:
    """Return a text without blanks around it. Raises UsageError where nothing is left, or much."""
    found = text.strip()
    if not found:
        raise UsageError(say("text-empty"), say("write-what-asked-or-answered"))
    if len(found) > LONGEST:
        raise UsageError(
            say("text-has-characters", count=len(found)), say("shorten-characters", most=LONGEST)
        )
    return found


def checked_part(part: str, slug: str, parts: tuple[str, ...]) -> str:
    """Return a part of an assignment, or nothing for the whole. Raises UsageError."""
    if part and part not in parts:
        raise UsageError(
            say("has-no-part", slug=slug, part=repr(part)),
            say("has-sentence", names=", ".join(parts)),
        )
    return part


_Changes = Mapping[int | None, tuple[int, Decimal | None]]
"""The attempt and the points of adjustments that count, by their numbers."""


def objection_lines(
    objections: Iterable[Objection], attempts: Iterable[Attempt], counts: int | None
) -> tuple[Text, ...]:
    """Return what is said of objections: a line for each, and one for each reply.

    `counts` is the number of the attempt that does: others' points are said to be theirs.
    """
    changes = _changes(attempts)
    lines = []
    for each in objections:
        asked = {"number": str(each.id), "time": told_time(each.recorded), "text": each.text}
        if each.part:
            lines.append(say("objection-part", **asked, part=each.part))
        else:
            lines.append(say("objection", **asked))
        if not each.replies:
            lines.append(say("has-not-been-answered-yet"))
        lines += [_reply_line(reply, changes, counts) for reply in each.replies]
    return tuple(lines)


def _reply_line(reply: Reply, changes: _Changes, counts: int | None) -> Text:
    told = {"who": reply.who, "time": told_time(reply.recorded), "text": reply.text}
    attempt, points = changes.get(reply.adjustment, (None, None))
    if points is None or attempt is None:
        return say("answered-by", **told)
    if attempt != counts:
        points_there = {"points": signed(points), "attempt": str(attempt)}
        return say("answered-by-points-elsewhere", **told, **points_there)
    return say("answered-by-points", **told, points=signed(points))


def _changes(attempts: Iterable[Attempt]) -> _Changes:
    attempts = tuple(attempts)
    counting = {each.id for each in valid(a for each in attempts for a in each.adjustments)}
    return {
        entry.id: (each.number, entry.points)
        for each in attempts
        for entry in each.adjustments
        if entry.id in counting
    }


def told_objections(
    objections: Iterable[Objection], attempts: Iterable[Attempt], counts: int | None
) -> tuple[ToldObjection, ...]:
    """Return objections as a student's page shows them, with the points of the counting attempt."""
    changes = _changes(attempts)

    def told(reply: Reply) -> ToldReply:
        attempt, points = changes.get(reply.adjustment, (None, None))
        change = None if points is None or attempt != counts else float(points)
        return ToldReply(foreign(reply.text), reply.who, told_time(reply.recorded), change)

    return tuple(
        ToldObjection(
            each.part, foreign(each.text), told_time(each.recorded), tuple(map(told, each.replies))
        )
        for each in objections
    )
