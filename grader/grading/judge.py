"""Deciding a part: which candidate counts, what its checks say, and how many points that is."""

from __future__ import annotations

import math
from difflib import get_close_matches

from msgspec.structs import replace

from grader.assignment import CheckTable, PartTable
from grader.checks.outcome import Outcome, not_graded
from grader.checks.registry import find_check
from grader.evidence.case import Candidate, Case, Problem
from grader.grading.graph import draw_graph
from grader.ir.vocabulary import FUNCTION_ATTRIBUTES, shown
from grader.language import NOTHING, Text, as_text, clause, join, say
from grader.report import Check, Diagnosis, Origin, Part

WITHHELD = say("This was not graded: what decides it is not in this copy of the course.")
WHO_HAS_IT = say("Your instructors grade it with the complete one.")

_COARSER = (1, 2, 5, 10, 20, 50)
"""A check's grid is made coarser by these factors, until it is coarser than the interval."""


def judge_case(part: PartTable, case: Case) -> Part:
    """Decide every check of a part for one candidate.

    A failed check that is `required` makes the other checks of the part worth nothing.
    """
    outcomes = {table.id: _decide(table, case) for table in part.check}
    blocking = [
        table.id
        for table in part.check
        if table.required and outcomes[table.id].verdict != "passed"
    ]
    checks = tuple(
        _score(part, table, _blocked(outcomes[table.id], table, blocking, part))
        for table in part.check
    )
    evidence = case.evidence
    checks = _with_note(checks, _note_on(case.candidate))
    checks = tuple(_beside(each, evidence.diagnosis) for each in checks)
    capture = case.candidate.capture
    origin = Origin(capture.name, capture.cell)
    return replace(
        _part(part, checks, origin),
        graph=draw_graph(case.candidate.facts),
        diagnosis=evidence.diagnosis,
        sample=evidence.sample,
        scripts=evidence.replay and evidence.replay.scripts,
    )


def _beside(check: Check, diagnosis: Diagnosis | None) -> Check:
    """Return a check that says whether its reason tells what the diagnosis does."""
    is_told = diagnosis is not None and check.reason.holds(diagnosis.message)
    return replace(check, tells_diagnosis=is_told)


def _note_on(candidate: Candidate) -> Text:
    """Say what was left out of a module because it means nothing; it costs no points."""
    if not candidate.left_out:
        return NOTHING
    name = candidate.left_out[0]
    known = [each for each in FUNCTION_ATTRIBUTES if each.startswith(("tirx.", "global_"))]
    meant = get_close_matches(name, known, n=1)
    note = say("The attribute {name} means nothing to TVM and was left out.", name=shown(name))
    return join(note, say("Is `{name}` meant?", name=meant[0]) if meant else NOTHING)


def _with_note(checks: tuple[Check, ...], note: Text) -> tuple[Check, ...]:
    if not note or not checks:
        return checks
    first = checks[0]
    return (replace(first, reason=join(first.reason, note)), *checks[1:])


def judge_problem(part: PartTable, problem: Problem, origin: Origin | None = None) -> Part:
    """Give a part no points, for one reason that holds for all of its checks."""
    outcome = not_graded(problem)
    return _part(part, tuple(_score(part, table, outcome) for table in part.check), origin)


def _decide(table: CheckTable, case: Case) -> Outcome:
    if table.withheld:
        return not_graded(Problem(WITHHELD, WHO_HAS_IT, code="withheld"))
    kind = find_check(table)
    return kind.decide(case, kind.parse(table))


def _blocked(outcome: Outcome, table: CheckTable, blocking: list[str], part: PartTable) -> Outcome:
    others = [name for name in blocking if name != table.id]
    if not others or table.points == 0:
        return outcome
    titles = {each.id: find_check(each).title for each in part.check}
    return not_graded(
        Problem(
            say("Counts only once this holds: {condition}.", condition=clause(titles[others[0]])),
            say("Mend that first."),
            code="waits",
        )
    )


def _score(part: PartTable, table: CheckTable, outcome: Outcome) -> Check:
    return Check(
        id=table.id,
        title=find_check(table).title,
        score=_round(outcome, table),
        max_score=table.points,
        verdict=outcome.verdict,
        reason=join(as_text(outcome.reason), _certainty(outcome, table)),
        hint=as_text(outcome.hint),
        visibility=part.visibility_of(table),
        kind=table.kind,
        again=outcome.again,
        code=outcome.code,
    )


def _certainty(outcome: Outcome, table: CheckTable) -> Text:
    """Say how certain measured points are, and that noise is rounded away."""
    if outcome.interval <= 0:
        return NOTHING
    half = outcome.interval * table.points / 2
    step = _step(float(table.options.get("grid", 0.01)), 2 * half)
    return say(
        "The points are certain to ±{half:.2g} and rounded to {step:.2g}.", half=half, step=step
    )


def _round(outcome: Outcome, table: CheckTable) -> float:
    """Round to the check's grid, half up, or to a coarser one where the measurement is coarser.

    All points are a place of every grid, and beyond them nothing is rounded up.
    """
    full, earned = table.points, outcome.fraction * table.points
    step = _step(float(table.options.get("grid", 0.01)), outcome.interval * full)
    nearest = math.floor(earned / step + 0.5) * step
    if abs(earned - full) <= abs(earned - nearest):
        nearest = full
    return round(min(nearest, max(full, earned)), 6)


def _step(grid: float, uncertain: float) -> float:
    return next((each * grid for each in _COARSER if each * grid >= uncertain), uncertain)


def _part(part: PartTable, checks: tuple[Check, ...], origin: Origin | None) -> Part:
    return Part(
        id=part.id,
        title=part.named,
        score=round(sum(check.score for check in checks), 6),
        max_score=part.points,
        checks=checks,
        origin=origin,
    )
