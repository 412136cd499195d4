"""Which checks of an assignment are made in a live notebook, and what is said of the others."""

from __future__ import annotations

import msgspec

from grader.assignment import Assignment, CheckTable, PartTable
from grader.language import mark, say
from grader.referee import checks as registered
from grader.referee.registry import find_check
from grader.report import Check, Part

assert registered.__all__  # importing the package registers the checks

TIMED = mark("It is timed when you are graded.")
"""Said of a check that measures time: a kernel, a browser and this process share the machine."""


def published(assignment: Assignment) -> Assignment:
    """Return the assignment without its hidden parts, and without what only they compute."""
    parts = tuple(part for part in assignment.part if not part.hidden)
    used = {part.computation for part in parts}
    return msgspec.structs.replace(
        assignment,
        part=parts,
        points=sum(part.points for part in parts),
        computation=tuple(each for each in assignment.computation if each.id in used),
    )


def restrict(assignment: Assignment, parts: tuple[str, ...], *, runs: bool) -> Assignment:
    """Return the assignment with the named parts alone, and of their checks those made here.

    Without `runs`, modules cannot be run: what needs that is left out.
    """
    kept = tuple(
        msgspec.structs.replace(
            part, check=tuple(table for table in part.check if _is_made(table, runs=runs))
        )
        for part in assignment.part
        if part.id in parts
    )
    points = sum(part.points for part in kept)
    return msgspec.structs.replace(assignment, part=kept, points=points)


def complete(table: PartTable, judged: Part, why_not_run: str) -> Part:
    """Return a part that was judged by some of its checks with all of them, in order.

    The others are worth nothing so far. Where nothing was found, that is the reason for all.
    """
    made = {check.id: check for check in judged.checks}
    absent = judged.checks[0] if judged.checks and judged.origin is None else None
    checks = tuple(
        made.get(each.id) or _left_out(each, absent, why_not_run) for each in table.check
    )
    return msgspec.structs.replace(judged, checks=checks, max_score=table.points)


def undecided(table: PartTable, made: PartTable) -> float:
    """Return the points of the checks of a part that are not made here."""
    return table.points - made.points


def _is_made(table: CheckTable, *, runs: bool) -> bool:
    needs = find_check(table).needs
    return "timing" not in needs and (runs or not needs)


def _left_out(table: CheckTable, absent: Check | None, why_not_run: str) -> Check:
    timed = "timing" in find_check(table).needs
    return Check(
        id=table.id,
        title=say(find_check(table).title),
        score=0.0,
        max_score=0.0 if absent is None else table.points,
        verdict="not_graded",
        reason=absent.reason if absent is not None else say(TIMED) if timed else why_not_run,
        hint="" if absent is None else absent.hint,
    )
