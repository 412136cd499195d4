"""What a check says: a share of its points, the reason, and the next step."""

from __future__ import annotations

from grader.evidence.case import Problem
from grader.language import NOTHING, Text, as_text
from grader.report import CheckCode, Frozen, Verdict


class Outcome(Frozen, frozen=True):
    """The result of one check.

    `fraction` is the share of the check's points, from 0 to 1, and above 1 for a bonus. Where it
    was measured, `interval` is the width of its interval: points are rounded no finer than that.
    `again` and `code` are as of a Problem.
    """

    verdict: Verdict
    fraction: float
    reason: Text
    hint: Text = NOTHING
    interval: float = 0.0
    again: bool = False
    code: CheckCode = "undecided"


def passed(reason: str | Text) -> Outcome:
    """All points."""
    return Outcome("passed", 1.0, as_text(reason), code="passed")


def partial(
    fraction: float, reason: str | Text, hint: str | Text, code: CheckCode = "incomplete"
) -> Outcome:
    """Some of the points; nothing or everything becomes failed or passed."""
    if fraction >= 1.0:
        return passed(reason)
    if fraction <= 0.0:
        return failed(reason, hint, "unmet" if code == "incomplete" else code)
    return Outcome("partial", fraction, as_text(reason), as_text(hint), code=code)


def failed(reason: str | Text, hint: str | Text, code: CheckCode = "unmet") -> Outcome:
    """No points, and why."""
    return Outcome("failed", 0.0, as_text(reason), as_text(hint), code=code)


def not_graded(problem: Problem) -> Outcome:
    """No points because there was nothing to decide from."""
    return Outcome(
        "not_graded", 0.0, problem.reason, problem.hint, again=problem.again, code=problem.code
    )
