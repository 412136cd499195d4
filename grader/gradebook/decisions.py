"""What a person decided of an attempt's parts, as a student's page shows it in each part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.gradebook.entries import Adjustment, Attempt, PartPoints, rounded, valid
from grader.language import foreign
from grader.render.final_grade import DecidedPart, Decision, DecisionItem


def decided_parts(attempt: Attempt, parts: Iterable[PartPoints]) -> tuple[DecidedPart, ...]:
    """Return the parts of which somebody decided something that counts.

    `parts` are those of the attempt's newest grading as they stand after all that was decided.
    """
    return tuple(_decided_parts(attempt, parts))


def _decided_parts(attempt: Attempt, parts: Iterable[PartPoints]) -> Iterator[DecidedPart]:
    open_before = {each.id for each in attempt.gradings[-1].parts if each.open}
    entries = valid(attempt.adjustments)
    for part in parts:
        own = tuple(_decision(each) for each in entries if each.part == part.id)
        if own:
            points, possible, open = map(float, (rounded(part.score), part.max_score, part.open))
            is_marked = part.id in open_before and not open
            yield DecidedPart(part.id, points, possible, open, is_marked, own)


def _decision(entry: Adjustment) -> Decision:
    marking = entry.marking
    if marking is not None:
        items = (DecisionItem(foreign(e.text, e.texts), float(e.points)) for e in marking.items)
        return Decision(tuple(items), foreign(marking.comment))
    points, factor = (None if e is None else float(e) for e in (entry.points, entry.factor))
    return Decision((DecisionItem(foreign(entry.reason), points, factor),))
