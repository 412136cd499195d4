"""Sentences of `grader verify`: what is wrong with an assignment, and what to do about it."""

from __future__ import annotations

from grader.assignment import Comparison, PartTable
from grader.checks.registry import find_check
from grader.report import CellProblem, Check, Part


def timed_checks(part: PartTable) -> frozenset[str]:
    """Return the checks of a part that need a time."""
    return frozenset(table.id for table in part.check if "timing" in find_check(table).needs)


def untimed_points(part: PartTable) -> float:
    """Return the points of all checks but those."""
    timed = timed_checks(part)
    return round(sum(table.points for table in part.check if table.id not in timed), 6)


def untimed_score(part: PartTable, result: Part) -> float:
    """Return what a part got from all checks but those."""
    timed = timed_checks(part)
    return round(sum(each.score for each in result.checks if each.id not in timed), 6)


def not_passed(part: PartTable, result: Part) -> list[Check]:
    """Return the checks that were not passed; those that need a time are left out."""
    timed = timed_checks(part)
    return [each for each in result.checks if each.verdict != "passed" and each.id not in timed]


def say_loss(check: Check) -> str:
    """Say what a check found."""
    return f"{check.id}: {check.reason.english}"


def reference_problem(part: PartTable, check: Check) -> str:
    """Say that the solved notebook does not get all points."""
    return f"The reference loses points in part {part.id}, check {check.id}: {check.reason.english}"


def failed_cell(problem: CellProblem) -> str:
    """Say that a cell of the solved notebook ends in an error."""
    return f"Cell {problem.cell} of the reference fails: {problem.error}: {problem.message}"


def template_problem(part: str, score: float) -> str:
    """Say that a notebook without solutions earns points."""
    return (
        f"The empty template gets {score:g} points in part {part}; it should get none."
        " Put more of it between solution marks, or make a check of the result `required`."
    )


def survivor(
    name: str, about: str, part: PartTable, comparison: Comparison, difference: float | None
) -> str:
    """Say which check should have caught a mutant that lost nothing, and what may help."""
    head = f"Mutant {name} of part {part.id} ({about}) keeps all points:"
    looking = [table for table in part.check if "outputs" in find_check(table).needs]
    comparing = [table for table in looking if table.kind == "equivalence"]
    if not comparing:
        return f"{head} no check of the part compares outputs. Add one of kind `equivalence`."
    check = comparing[0]
    if check.points == 0 and not check.required:
        return f"{head} check `{check.id}` has no points and is not `required`."
    text = f"{head} check `{check.id}` should have caught it."
    if difference is None:
        return f"{text} Give the oracle inputs that tell it from the reference."
    return (
        f"{text} Its outputs are off by up to {difference:.2g}, and {comparison.atol:g} +"
        f" {comparison.rtol:g} * |output| is allowed: make the tolerance smaller, or the inputs"
        " larger."
    )


def unexpected(name: str, expected: str, checks: tuple[str, ...]) -> str:
    """Say that another check than the one named caught a declared mutant."""
    return (
        f"Mutant {name} was to be caught by check `{expected}`, which it passes;"
        f" it loses points at {', '.join(checks) or 'no check'}."
    )


def missed(name: str, expected: str) -> str:
    """Say that a declared mutant passes the check that was named for it."""
    return f"Mutant {name} keeps all points: check `{expected}` should have caught it."


def broken(name: str, reason: str) -> str:
    """Say that a mutant is no submission that could be judged."""
    return f"Mutant {name} shows nothing, because it does not run: {reason}"
