"""What a check says: a share of its points, the reason, and the next step."""

from __future__ import annotations

from grader.language import retell
from grader.referee.evidence import Problem
from grader.report import Frozen, Verdict


class Outcome(Frozen, frozen=True):
    """The result of one check.

    `fraction` is the share of the check's points, from 0 to 1, and above 1 for a bonus. Where it
    was measured, `interval` is the width of its interval: points are rounded no finer than that.
    `again` is as of a Problem.
    """

    verdict: Verdict
    fraction: float
    reason: str
    hint: str = ""
    interval: float = 0.0
    again: bool = False


def passed(reason: str) -> Outcome:
    """All points."""
    return Outcome("passed", 1.0, reason)


def partial(fraction: float, reason: str, hint: str) -> Outcome:
    """Some of the points; nothing or everything becomes failed or passed."""
    if fraction >= 1.0:
        return passed(reason)
    return Outcome("partial" if fraction > 0 else "failed", max(fraction, 0.0), reason, hint)


def failed(reason: str, hint: str) -> Outcome:
    """No points, and why."""
    return Outcome("failed", 0.0, reason, hint)


def not_graded(problem: Problem) -> Outcome:
    """No points because there was nothing to decide from."""
    reason, hint = retell(problem.reason), retell(problem.hint)
    return Outcome("not_graded", 0.0, reason, hint, again=problem.again)
