"""What each step of a real schedule brought.

The losses here are so large (a factor of four) that no load of the machine hides them.
"""

from __future__ import annotations

import math

import pytest

from grader.report import StepSpeeds
from tests.endtoend.batches import GradedBatch, require_measured

pytestmark = pytest.mark.timed


@pytest.fixture
def speeds(example: str, graded_timed: GradedBatch) -> StepSpeeds:
    report = graded_timed.reports[example]
    require_measured(report)
    assert report.timing is not None
    assert report.timing.steps is not None
    return report.timing.steps


@pytest.mark.parametrize("example", ["e2e-conv/schedule_slower"])
def test_steps_that_cost_are_named_with_their_lines(speeds: StepSpeeds, example: str) -> None:
    costly = [each.lines[0].text for each in speeds.steps if each.change == "slower"]
    assert "sch.unroll(f1)" in costly, example
    product = math.prod(each.factor for each in speeds.steps)
    assert product == pytest.approx(speeds.speedup, rel=0.02)
    assert speeds.speedup < 0.3


@pytest.mark.parametrize("example", ["e2e-conv/reference"])
def test_what_later_steps_make_up_for_is_no_loss(speeds: StepSpeeds, example: str) -> None:
    """Which step it is depends on the processor: AMD's loses by the order, Intel's by the copy."""
    losses = [each for each in speeds.steps if each.high < 0.95]
    assert {"regained"} == {each.change for each in losses}, example
    assert speeds.speedup > 1
