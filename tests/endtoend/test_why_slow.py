"""A schedule that is slower than the unscheduled function is told why, in each rendering."""

from __future__ import annotations

import re

import pytest

from grader.report import Report
from tests.endtoend.batches import GradedBatch, require_measured

EXAMPLE = "e2e-conv/schedule_slower"
FACT = re.compile(
    r"The hot loop executes [\d.]+ loads and [\d.]+ stores for each multiply-add; the hot"
    r" loop of the unscheduled function executes [\d.]+ and [\d.]+\."
)


@pytest.fixture
def report(example: str, graded_timed: GradedBatch) -> Report:
    assert 0 == graded_timed.code, graded_timed.messages
    found = graded_timed.reports[example]
    require_measured(found)
    return found


@pytest.mark.timed
@pytest.mark.parametrize("example", [EXAMPLE])
def test_its_loads_and_stores_stand_beside_the_unscheduled_function_s(
    report: Report, example: str
) -> None:
    for form in ("text", "html", "markdown", "json"):
        words = " ".join(re.sub(r"\\", "", report.render(form)).split())
        assert FACT.search(words), f"{form} of {example}"
