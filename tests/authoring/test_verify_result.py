"""What `grader verify` says of a reference that lost points."""

from pathlib import Path

import pytest

from grader.authoring.verify_result import losses
from grader.checks import kinds
from grader.course import load_course
from grader.language import foreign
from grader.report import Check, CheckCode, Part

ROOT = Path(__file__).parents[2]
assert kinds.__all__  # importing the package registers the checks


@pytest.mark.parametrize(
    ("code", "is_problem"),
    [("other_computation", True), ("undecided", True), ("held", True), ("busy", False)],
)
def test_only_what_the_machine_lacks_is_not_measured(code: CheckCode, is_problem: bool) -> None:
    """A baseline with other results, or faster than the reference, is no machine's fault."""
    every = load_course(ROOT).get("tensorir").assignment.part
    table = next(each for each in every if any(check.id == "speed" for check in each.check))
    speed = Check("speed", foreign("Speed"), 0, 15, "not_graded", foreign("Why."), code=code)
    result = Part(table.id, foreign("P"), 0, 15, (speed,))
    lost, unmeasured = losses(table, result, timed=True)
    assert (is_problem, not is_problem) == (bool(lost), bool(unmeasured))
    assert ([], []) == losses(table, result, timed=False)
