"""Damaged and unlucky notebooks: all are graded, right work counts, and every loss has a reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.report import Report, encode_report
from tests.broken.cases import LEVELS, Case, case_names, load_case
from tests.conftest import require
from tests.endtoend.batches import LEVEL, REAPER, GradedBatch
from tests.endtoend.command import ROOT
from tests.expectation import mismatches
from tests.sandbox.inside import some_seconds

TRACEBACK = "Traceback (most recent"
"""What the grader's own failures begin with, and what a notebook's cells put out."""


def selected_names() -> list[str]:
    """Return the cases whose verdict holds at the level that is tested."""
    level = LEVELS.index(LEVEL or "strong")
    return [name for name in case_names() if LEVELS.index(load_case(name).needs) <= level]


@pytest.mark.hurried
@pytest.mark.graded
@pytest.mark.parametrize("case_to_grade", selected_names())
def test_a_broken_notebook_is_graded(case_to_grade: str, graded: dict[str, GradedBatch]) -> None:
    """It gets its points and its reasons."""
    case = load_case(case_to_grade)
    report = graded[case_to_grade].reports[case_to_grade]
    require(report.sandbox, case.needs)  # that of this machine, where none was asked for
    assert () == mismatches(case.expectation, report), summary(report)
    assert_troubles_are_named(case, report)
    assert_nothing_of_the_machine_is_shown(encode_report(report).decode())
    assert TRACEBACK not in encode_report(replace(report, cells=())).decode()


@pytest.mark.hurried
@pytest.mark.graded
def test_the_batch_goes_on_and_leaves_nothing(graded: dict[str, GradedBatch]) -> None:
    """Exit code 0: all were graded, whatever the others did."""
    for batch in {id(each): each for each in graded.values()}.values():
        assert 0 == batch.code, batch.messages
        assert "" == batch.survivors
        assert () == batch.leftovers
        assert_nothing_of_the_machine_is_shown(batch.output + batch.messages)
        assert TRACEBACK not in batch.output + batch.messages


def assert_troubles_are_named(case: Case, report: Report) -> None:
    """As many notes and problems as there should be, each with its text."""
    if case.awaiting:
        named = {problem.cell for problem in report.problems}
        text = f"cell {case.awaiting}"
        assert case.awaiting in named or any(text in note.english.lower() for note in report.notes)
        return
    assert len(case.notes) == len(report.notes), report.notes
    for text, note in zip(case.notes, report.notes, strict=True):
        assert text in note.english
    assert len(case.errors) == len(report.problems), report.problems
    for text, problem in zip(case.errors, report.problems, strict=True):
        assert text in f"{problem.error}: {problem.message}"


def summary(report: Report) -> str:
    """Return all that a failing test's reader wants to know."""
    reasons = [check.reason.english for part in report.parts for check in part.checks]
    return f"{report.score} {report.problems} {report.notes} {reasons}"


def assert_nothing_of_the_machine_is_shown(text: str) -> None:
    """The grader's folders may not reach a student."""
    for forbidden in ("site-packages", str(ROOT)):
        assert forbidden not in text


def test_no_case_is_empty_or_misspelt() -> None:
    """Every case can be read, says what it is, and states its score."""
    names = case_names()
    assert 32 <= len(names)
    for name in names:
        case = load_case(name)
        assert case.about.endswith(".")
        assert case.expectation.score is not None
        assert case.needs in LEVELS
        assert bool(case.code) == ("@" in case.cells), name


def test_the_reaper_finds_what_outlives_a_command(tmp_path: Path) -> None:
    """A process that left its session and lost its parent is listed and ended."""
    sleep = shutil.which("sleep")
    assert sleep is not None
    marker = some_seconds()
    daemon = f"setsid {sleep} {marker} > /dev/null 2>&1 &"
    listing = tmp_path / "listing"
    done = subprocess.run([sys.executable, REAPER, "30", listing, "sh", "-c", daemon])
    assert 0 == done.returncode
    assert marker in listing.read_text()
