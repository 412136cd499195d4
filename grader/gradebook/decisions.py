"""What a person decided of an attempt: as rows in parts of a page, and as steps to a grade."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from grader.gradebook.entries import (
    Adjustment,
    Attempt,
    PartPoints,
    rounded,
    show,
    signed,
    valid,
)
from grader.language import Text, foreign, say
from grader.lateness import NONE
from grader.render.final_grade import DecidedPart, Decision, DecisionItem


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
    return {
        "number": number,
        "who": entry.who,
        "time": when,
        "part": entry.part,
        "reason": reason,
    }


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
