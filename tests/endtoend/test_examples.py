"""Every example submission gets the verdict that is written beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.course import load_course
from tests.dialects.untimed import untimed_course
from tests.endtoend.batches import GradedBatch, require_measured
from tests.endtoend.command import ROOT, run_grader
from tests.endtoend.examples import EXAMPLES, brisk_course, chosen, example_notebooks, is_timed
from tests.expectation import load_expectation, mismatches
from tests.missing import needs_real_data, real_data

ASSIGNMENTS = sorted(path.parent.name for path in ROOT.glob("assignments/*/assignment.toml"))
REFERENCE = ROOT / "examples" / "e2e-conv" / "reference.ipynb"


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_there_are_at_least_ten_examples_besides_the_reference(assignment: str) -> None:
    names = [name for name in EXAMPLES if name.startswith(f"{assignment}/")]
    assert f"{assignment}/reference" in names
    assert len(names) > 10


def untimed_submissions(selected: Sequence[pytest.Function]) -> dict[str, bytes]:
    """Return the examples whose verdict has nothing to do with the clock."""
    return example_notebooks(name for name in chosen(selected) if not is_timed(name))


def _parameter(name: str) -> object:
    mark = pytest.mark.timed if is_timed(name) else pytest.mark.graded
    return pytest.param(name, marks=[mark])


@pytest.fixture
def graded(request: pytest.FixtureRequest, example: str) -> GradedBatch:
    """The batch that an example was graded in."""
    batch: GradedBatch
    batch = request.getfixturevalue("graded_timed" if is_timed(example) else "together")
    return batch


@pytest.mark.parametrize("example", [_parameter(name) for name in EXAMPLES])
def test_an_example_gets_its_verdict(example: str, graded: GradedBatch) -> None:
    assert 0 == graded.code, graded.messages
    report = graded.reports[example]
    require_measured(report)
    assert () == mismatches(load_expectation(EXAMPLES[example]), report)


@pytest.mark.parametrize("example", [_parameter(f"{slug}/reference") for slug in ASSIGNMENTS])
def test_a_reference_runs_to_its_last_cell(example: str, graded: GradedBatch) -> None:
    report = graded.reports[example]
    assert () == report.problems
    assert report.submission.cells == report.submission.executed


@pytest.mark.timed
@needs_real_data
def test_the_reference_gets_everything_on_real_images(tmp_path: Path) -> None:
    result = run_grader(tmp_path, REFERENCE, "--data", str(real_data()))
    assert 0 == result.code, result.messages
    require_measured(result.report)
    assert (100, 100) == (result.report.score, result.report.max_score), result.output


def checks(course: Path, slug: str) -> dict[str, list[str]]:
    parts = load_course(course).get(slug).assignment.part
    return {part.id: [check.kind for check in part.check] for part in parts}


@pytest.mark.parametrize("slug", ASSIGNMENTS)
def test_the_untimed_course_has_all_checks_but_that_of_speed(slug: str, tmp_path: Path) -> None:
    others = {
        part: [kind for kind in kinds if kind != "speed"]
        for part, kinds in checks(ROOT, slug).items()
    }
    assert others == checks(untimed_course(tmp_path), slug)


def test_the_brisk_course_differs_in_nothing_but_how_long_is_measured(tmp_path: Path) -> None:
    course = brisk_course(tmp_path)
    added = " budget_seconds = 0.1,"
    for table in (ROOT / "assignments").glob("*/assignment.toml"):
        original = table.read_text(encoding="utf-8")
        brisk = (course / table.relative_to(ROOT)).read_text(encoding="utf-8")
        assert original.replace("{ ", "{") == brisk.replace(added, "").replace("{ ", "{")
        assert ('kind = "speed"' in original) == (added in brisk)
