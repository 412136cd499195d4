"""What `grader verify` says of a reference that lost points."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from grader.authoring.verify_result import losses, rounding
from grader.checks import kinds
from grader.course import load_course
from grader.language import foreign
from grader.report import Check, CheckCode, Part
from tests.evidence.factory import outputs

ROOT = Path(__file__).parents[2]
assert kinds.__all__  # importing the package registers the checks


@pytest.mark.parametrize(("error", "is_told"), [(0.03, True), (3.0, False)])
def test_a_tolerance_below_rounding_is_named(error: float, is_told: bool) -> None:
    """Sums of large numbers that are near 0 are off by more than a share of themselves."""
    assignment = load_course(ROOT).get("tensorir").assignment
    table, computation = assignment.part[0], assignment.computation[0]
    desired = np.array([[3e5, -2e5, 0.5]])
    found = outputs((desired + np.array([[0, 0, error]])).astype(np.float32), desired)
    told = rounding(table, found, replace(computation, rtol=1e-4, atol=1e-5)).english
    assert is_told == ("`atol` of 0.1" in told)
    assert is_told == bool(told)
    assert not rounding(table, found, replace(computation, rtol=1e-4, atol=5.0))


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
