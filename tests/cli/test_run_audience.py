"""`grader run` prints what its audience may see, and writes all of it as JSON."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.run import RunOptions, run_submission
from grader.grading.preparation import GradingOptions
from grader.report import decode_report
from tests.cli.test_batch import MODEL, PREPARATION
from tests.endtoend.command import ROOT, run_grader, write_notebook
from tests.endtoend.warm import run_warm
from tests.render.test_audience import LATE

COURSE = ROOT / "tests" / "courses" / "visibility"
KEPT_BACK = "Your instructor keeps some checks back"
HIDDEN_TITLE = "The layer once more, looked at in secret"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """Its model is built as it should be, and computes something else: 7 of 39 points."""
    cells = (PREPARATION, MODEL.format(function="topi.tanh"))
    grader = {"assignment": "visibility", "version": 1}
    return write_notebook(tmp_path / "homework.ipynb", *cells, grader=grader)


def test_students_read_what_they_may_and_the_document_has_everything(
    notebook: Path, tmp_path: Path
) -> None:
    result = run_grader(tmp_path, notebook, "--course", COURSE, "--seed", "7", "--fail-under", "4")
    assert 1 == result.code, "of the points that are shown there are three"
    assert "3 of 11 points" in result.output
    assert KEPT_BACK in result.output
    assert HIDDEN_TITLE not in result.output
    assert "Seed" not in result.output
    assert result.report is not None
    assert (7, 39, 7) == (result.report.score, result.report.max_score, result.report.seed)
    assert "2126-12-01T23:59:00+01:00" == result.report.assignment.due


def test_a_batch_fails_by_the_points_that_students_are_shown(
    notebook: Path, tmp_path: Path
) -> None:
    """The second time, the report of the first is kept."""
    words = ("batch", notebook, "--output", tmp_path / "reports", "--course", COURSE, "--jobs", 1)
    for points, code in ((3, 0), (4, 1)):
        done = run_warm((*map(str, words), "--fail-under", str(points)))
        assert code == done.returncode, done.stderr
        assert "7 of 39" in done.stdout, "the overview is the instructor's"


def test_the_instructor_reads_everything(notebook: Path, tmp_path: Path) -> None:
    options = ("--course", COURSE, "--seed", "7", "--fail-under", "4", "--audience", "instructor")
    result = run_grader(tmp_path, notebook, *options)
    assert 0 == result.code
    assert "7 of 39 points" in result.output
    assert HIDDEN_TITLE in result.output
    assert KEPT_BACK not in result.output


def test_the_time_is_that_of_the_clock(notebook: Path, tmp_path: Path) -> None:
    grading = GradingOptions(course=COURSE, data="builtin")
    document, page = tmp_path / "report.json", Console(file=io.StringIO(), width=100)
    options = RunOptions(notebook, grading, document)
    seen = run_submission(options, page, Console(file=io.StringIO()), clock=lambda: LATE)
    assert (7, 15) == (seen.score, seen.max_score)
    assert 39 == decode_report(document.read_bytes()).max_score
