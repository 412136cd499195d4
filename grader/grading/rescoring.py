"""A rubric apart from what is graded: which points a share is worth, and points counted anew.

What decides how a submission does (`decided`) is one thing, what that is worth and how it is told
(`rubric_digest`) another. Where only the latter was changed, `rescored` makes today's report of an
earlier one: nothing is run.
"""

import hashlib
import math
from typing import Any

import msgspec
from msgspec.structs import replace

from grader.assignment import Assignment, CheckTable, PartTable
from grader.language import NOTHING, Joined, Text, join, say
from grader.report import AssignmentId, Check, Part, Report
from grader.rubric import ManualTable

_COARSER = (1, 2, 5, 10, 20, 50)
"""A check's grid is made coarser by these factors, until it is coarser than the interval."""

_TOLD = ("title", "titles", "version", "points", "due", "late", "counts")
"""What of an assignment says how a grade is told and counted."""


def decided(assignment: Assignment) -> str:
    """Return what of `assignment.toml` decides how a submission does, as JSON.

    Points are not in it; whether a check is worth any is: one that is not is no reason to wait for
    a required one.
    """
    tables = msgspec.to_builtins(assignment)
    for name in _TOLD:
        del tables[name]
    for marked in tables["manual"]:
        for name in set(marked) - {"id", "answer"}:
            del marked[name]
    for part in tables["part"]:
        for name in ("title", "titles", "visibility"):
            del part[name]
        for check in part["check"]:
            del check["visibility"]
            check["points"] = check["points"] > 0
    return _encoded(tables)


def rubric_digest(assignment: Assignment) -> str:
    """Return the digest, in hexadecimal, of the rest: titles, points, visibility, due date."""
    about = describe_assignment(assignment)
    parts: list[Any] = [
        [part.id, part.title, part.titles, [_told(part, check) for check in part.check]]
        for part in assignment.part
    ]
    parts += [_without_question(each) for each in assignment.manual]
    told = [about.slug, assignment.title, assignment.titles, about.version, about.due]
    return hashlib.sha256(_encoded([told, assignment.points, parts]).encode()).hexdigest()


def _without_question(part: ManualTable) -> dict[str, Any]:
    """Return what of a part gives points: the question is there for whoever marks."""
    told: dict[str, Any] = msgspec.to_builtins(part)
    return {name: told[name] for name in told if name not in ("question", "questions")}


def _told(part: PartTable, check: CheckTable) -> list[object]:
    return [check.id, check.points, part.visibility_of(check)]


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def describe_assignment(assignment: Assignment) -> AssignmentId:
    """Return what a report says of its assignment."""
    due = "" if assignment.due is None else assignment.due.isoformat()
    return AssignmentId(assignment.slug, assignment.named, assignment.version, due)


def points_of(
    share: float, interval: float, table: CheckTable, above: float | None = None
) -> float:
    """Return the points that a share of a check is worth; `interval` is the width of the share's
    own, which ends `above` it.

    Rounded to the check's grid, half up, or to a coarser one where the measurement is coarser, but
    up no further than the interval goes: a schedule may be uneven on purpose.
    """
    full, grid = table.points, _grid(table)
    rounded = _rounded(share * full, full, _step(grid, interval * full))
    if above is not None and rounded > (share + above) * full:
        rounded = _rounded(share * full, full, grid)
    return rounded


def _rounded(earned: float, full: float, step: float) -> float:
    """Round points half up. All points are a place of every grid, and beyond them nothing is
    rounded up."""
    nearest = math.floor(earned / step + 0.5) * step
    if abs(earned - full) <= abs(earned - nearest):
        nearest = full
    return round(min(nearest, max(full, earned)), 6)


def certainty(interval: float, points: float, table: CheckTable) -> Text:
    """Say how certain measured points are, and that noise is rounded away."""
    if interval <= 0:
        return NOTHING
    half = interval * points / 2
    step = _step(_grid(table), 2 * half)
    return say("points-certain-and-rounded", half=half, step=step)


def _grid(table: CheckTable) -> float:
    return float(table.options.get("grid", 0.01))


def _step(grid: float, uncertain: float) -> float:
    return next((each * grid for each in _COARSER if each * grid >= uncertain), uncertain)


def outdoes(other: Part, chosen: Part) -> bool:
    """Say whether one candidate's part is better than another's in some check.

    Then it depends on the points which of them counts.
    """
    shares = {check.id: check.share or 0.0 for check in chosen.checks}
    return any((check.share or 0.0) > shares.get(check.id, 0.0) for check in other.checks)


def rescored(report: Report, assignment: Assignment) -> Report | None:
    """Return a report as today's rubric has it, of one that was decided by what decides today.

    None where that takes a run: where it does not say what share of a check was reached, or where
    another candidate might be the better one under other points.
    """
    known = {part.id: part for part in report.parts}
    if [*known] != [*assignment.part_ids]:
        return None
    parts = [_rescored_part(known[table.id], table) for table in assignment.part]
    found = tuple(each for each in parts if each is not None)
    if len(found) < len(parts):
        return None
    marked = [
        replace(known[table.id], title=table.named, open=table.points)
        for table in assignment.manual
    ]
    return replace(
        report,
        parts=(*found, *marked),
        score=round(sum(part.score for part in found), 6),
        max_score=assignment.graded_points,
        assignment=describe_assignment(assignment),
        rubric=rubric_digest(assignment),
    )


def _rescored_part(part: Part, table: PartTable) -> Part | None:
    known = {check.id: check for check in part.checks}
    if [*known] != [each.id for each in table.check]:
        return None
    pairs = [(known[each.id], each) for each in table.check]
    is_weighed_alike = all(check.max_score == each.points for check, each in pairs)
    if not is_weighed_alike and (part.contested or any(c.share is None for c, _ in pairs)):
        return None
    checks = tuple(_rescored_check(check, each, table) for check, each in pairs)
    score = round(sum(check.score for check in checks), 6)
    return replace(part, title=table.named, checks=checks, score=score, max_score=table.points)


def _rescored_check(check: Check, table: CheckTable, part: PartTable) -> Check:
    check = replace(check, visibility=part.visibility_of(table))
    if check.share is None or check.max_score == table.points:
        return check
    before = certainty(check.interval, check.max_score, table)
    after = certainty(check.interval, table.points, table)
    return replace(
        check,
        score=points_of(check.share, check.interval, table, check.above),
        max_score=table.points,
        reason=_exchanged(check.reason, before, after),
    )


def _exchanged(text: Text, before: Text, after: Text) -> Text:
    """Return a text that says another sentence in place of one of its own."""
    if not before:
        return text
    if text == before:
        return after
    if isinstance(text, Joined):
        return join(*(_exchanged(part, before, after) for part in text.parts))
    return text
