"""Every example submission gets the verdict that is written beside it."""

from __future__ import annotations

import os

import pytest

from grader.authoring.expectation import Range, load_expectation, mismatches
from tests.endtoend.command import ROOT, run_grader

EXAMPLES = sorted((ROOT / "examples").glob("*/*.verdict.toml"))
SPEED_POINTS = 15
"""An example that must get more than this for its schedule is about speed."""
REAL_DATA = os.environ.get("GRADER_DATA", "")
REFERENCE = ROOT / "examples" / "e2e-conv" / "reference.ipynb"
TEMPLATE = ROOT / "templates" / "e2e-conv.ipynb"

needs_real_data = pytest.mark.skipif(
    not REAL_DATA, reason="GRADER_DATA names no folder with the real images"
)


def test_there_are_at_least_a_dozen_examples_besides_the_reference():
    assert len(EXAMPLES) >= 13


def example(path):
    """Mark an example whose verdict depends on the clock."""
    schedule = load_expectation(path).part.get("schedule")
    score = schedule.score if schedule is not None else None
    least = score.min if isinstance(score, Range) else score
    is_judged = schedule is not None and schedule.check.get("speed", "not_graded") != "not_graded"
    marks = [pytest.mark.timed] if is_judged or (least or 0) > SPEED_POINTS else []
    return pytest.param(path, marks=marks, id=path.name.split(".")[0])


@pytest.mark.parametrize("path", [example(path) for path in EXAMPLES])
def test_an_example_gets_its_verdict(path, tmp_path):
    notebook = path.with_name(path.name.replace(".verdict.toml", ".ipynb"))
    result = run_grader(tmp_path, notebook)
    assert 0 == result.code, result.messages
    assert () == mismatches(load_expectation(path), result.report), result.output


@pytest.mark.parametrize(
    "data", ["builtin", pytest.param(REAL_DATA, marks=needs_real_data, id="real")]
)
class TestExtremes:
    @pytest.mark.timed
    def test_the_reference_gets_everything(self, data, tmp_path):
        result = run_grader(tmp_path, REFERENCE, "--data", data)
        assert 0 == result.code, result.messages
        assert (100, 100) == (result.report.score, result.report.max_score), result.output

    def test_the_untouched_template_gets_nothing_and_every_part_says_why(self, data, tmp_path):
        result = run_grader(tmp_path, TEMPLATE, "--data", data)
        assert (0, 0) == (result.code, result.report.score), result.output
        assert all(check.reason for part in result.report.parts for check in part.checks)
