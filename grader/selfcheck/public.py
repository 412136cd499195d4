"""Which checks of an assignment are made in a live notebook, and what is said of the others."""

import msgspec

from grader.assignment import Assignment, CheckTable, PartTable
from grader.checks import kinds as registered
from grader.evidence.registry import find_check
from grader.language import NOTHING, Text, say
from grader.report import Check, Part

assert registered.__all__  # importing the package registers the checks

TIMED = say("timed-when-graded")
"""Said of a check that measures time: a kernel, a browser and this process share the machine."""

POINTS_ONLY = say("decided-when-graded")
"""Said of a check of which students see the points alone: here they could ask at every change."""

_LISTED = ("visible", "score_only")
"""What students are shown before the due date, in full or by its points."""


def published(assignment: Assignment) -> Assignment:
    """Return the assignment without its hidden parts and checks, and what only they compute.

    What is shown after the due date is hidden here: who is to see it sees it in the report.
    """
    listed = _listed(assignment)
    parts = tuple(part for part in listed if not part.hidden)
    used = {part.computation for part in parts}
    return msgspec.structs.replace(
        assignment,
        part=parts,
        manual=(),  # a person marks them
        points=sum(part.points for part in parts),
        computation=tuple(each for each in assignment.computation if each.id in used),
    )


def hidden_points(assignment: Assignment) -> float:
    """Return the points that a report shows and a self-check does not: those of hidden parts."""
    return assignment.withheld + sum(part.points for part in _listed(assignment) if part.hidden)


def _listed(assignment: Assignment) -> tuple[PartTable, ...]:
    """Return the parts with the checks that students see at all before the due date."""
    parts = (
        msgspec.structs.replace(
            part,
            check=tuple(table for table in part.check if part.visibility_of(table) in _LISTED),
        )
        for part in assignment.part
    )
    return tuple(part for part in parts if part.check)


def restrict(assignment: Assignment, parts: tuple[str, ...], *, runs: bool) -> Assignment:
    """Return the assignment with the named parts alone, and of their checks those made here.

    Without `runs`, modules cannot be run: what needs that is left out.
    """
    kept = tuple(
        msgspec.structs.replace(
            part, check=tuple(table for table in part.check if _is_made(part, table, runs=runs))
        )
        for part in assignment.part
        if part.id in parts
    )
    points = sum(part.points for part in kept)
    return msgspec.structs.replace(assignment, part=kept, manual=(), points=points)


def complete(table: PartTable, judged: Part, why_not_run: Text) -> Part:
    """Return a part that was judged by some of its checks with all of them, in order.

    The others are worth nothing so far. Where nothing was found, that is the reason for all. Where
    no comparison of outputs was among those checks, neither is what explains one.
    """
    made = {check.id: check for check in judged.checks}
    absent = judged.checks[0] if judged.checks and judged.origin is None else None
    checks = tuple(
        made.get(each.id) or _left_out(table, each, absent, why_not_run) for each in table.check
    )
    compared = any(check.kind == "equivalence" for check in judged.checks)
    return msgspec.structs.replace(
        judged,
        checks=checks,
        max_score=table.points,
        diagnosis=judged.diagnosis if compared else None,
        sample=judged.sample if compared else None,
    )


def undecided(table: PartTable, made: PartTable) -> float:
    """Return the points of the checks of a part that are not made here."""
    return table.points - made.points


def _is_made(part: PartTable, table: CheckTable, *, runs: bool) -> bool:
    needs = find_check(table).needs
    is_shown = part.visibility_of(table) == "visible"
    return is_shown and not table.withheld and "timing" not in needs and (runs or not needs)


def _left_out(part: PartTable, table: CheckTable, absent: Check | None, why_not_run: Text) -> Check:
    return Check(
        id=table.id,
        title=find_check(table).title,
        score=0.0,
        max_score=0.0 if absent is None else table.points,
        verdict="not_graded",
        reason=_why_left_out(part, table, why_not_run) if absent is None else absent.reason,
        hint=NOTHING if absent is None else absent.hint,
        visibility=part.visibility_of(table),
        kind=table.kind,
        code="withheld" if absent is None else absent.code,
        share=None if absent is None else absent.share,
    )


def _why_left_out(part: PartTable, table: CheckTable, why_not_run: Text) -> Text:
    if part.visibility_of(table) != "visible":
        return POINTS_ONLY
    return TIMED if "timing" in find_check(table).needs else why_not_run
