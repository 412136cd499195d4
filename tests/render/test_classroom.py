"""The report as a step's result for the reporter of GitHub Classroom.

`reported` does with it what the reporter does (classroom-resources/autograding-grading-reporter,
src/main.js and src/notify-classroom.js).
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Literal

import msgspec
import pytest

from grader.language import LANGUAGES, foreign
from grader.render.github import render_classroom
from grader.report import Environment, Report, ungraded_report
from tests import sample_reports
from tests.render.foreign import CONTROLS, HARMFUL, everywhere, with_cells


class Case(msgspec.Struct, forbid_unknown_fields=True):
    """A test as the graders of Classroom write it."""

    name: str
    status: Literal["pass", "fail", "error"]
    score: float
    message: str | None
    test_code: str
    filename: str
    line_no: int
    duration: float


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """A result as the graders of Classroom write it."""

    version: Literal[1]
    status: Literal["pass", "fail", "error"]
    max_score: float
    tests: list[Case]


def decoded(report: Report) -> Result:
    content = base64.b64decode(render_classroom(report).strip(), validate=True)
    return msgspec.json.decode(content, type=Result, strict=True)


def reported(report: Report) -> dict[str, Any] | None:
    """Return the points that the reporter hands over; None where it hands over nothing."""
    results = json.loads(base64.b64decode(render_classroom(report)))
    if not results["max_score"]:
        return None
    total = sum(test["score"] for test in results["tests"])
    return {"totalPoints": total, "maxPoints": results["max_score"]}


REPORTS = [
    sample_reports.typical(),
    sample_reports.full_marks(),
    sample_reports.nothing_to_grade(),
    sample_reports.korean_and_chinese(),
    sample_reports.hostile(),
    ungraded_report("broken.ipynb", foreign("No notebook."), Environment("3.11.7", "CPU", 4, {})),
]


@pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
def test_it_is_one_line_of_base64(report: Report) -> None:
    """So that it is a value of $GITHUB_OUTPUT and of an environment variable."""
    assert re.fullmatch(rb"[A-Za-z0-9+/]+=*\n", render_classroom(report))
    assert 1 == decoded(report).version


def test_the_reporter_adds_up_the_points() -> None:
    assert {"totalPoints": 77.5, "maxPoints": 100.0} == reported(sample_reports.typical())
    assert {"totalPoints": 100.0, "maxPoints": 100.0} == reported(sample_reports.full_marks())
    assert {"totalPoints": 0.0, "maxPoints": 100.0} == reported(sample_reports.nothing_to_grade())


def test_what_could_not_be_graded_has_no_points_and_its_reason() -> None:
    result = decoded(REPORTS[-1])
    assert reported(REPORTS[-1]) is None
    assert ("error", "No notebook.") == (result.status, result.tests[0].message)


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (sample_reports.full_marks(), "pass"),
        (sample_reports.typical(), "fail"),
        (sample_reports.nothing_to_grade(), "error"),
    ],
)
def test_the_job_passes_with_all_points_only(report: Report, status: str) -> None:
    assert status == decoded(report).status


def test_a_test_is_a_check_with_its_reason_and_its_line() -> None:
    lost = decoded(with_cells()).tests[4]
    assert "The convolution, done by an external function: Same outputs as PyTorch" == lost.name
    assert ("fail", 0.0, "homework.ipynb", 85) == (
        lost.status,
        lost.score,
        lost.filename,
        lost.line_no,
    )
    assert lost.message is not None and "\nWhat to do: Add the bias" in lost.message


def test_a_check_that_passed_has_no_message() -> None:
    first = decoded(sample_reports.typical()).tests[0]
    assert ("pass", None, 10.0) == (first.status, first.message, first.score)


@pytest.mark.parametrize("foreign", HARMFUL)
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_reporter_prints_is_no_command(foreign: str, language: str) -> None:
    """The runner takes `::` at the start of a line and `##[` anywhere for a command."""
    for test in decoded(everywhere(foreign, language)).tests:
        printed = f"{test.name}\n{test.message}\n{test.filename}\n{test.test_code}"
        assert not re.search(r"::|##\[", printed)
        assert not set(printed) & set(CONTROLS) - {"\n"}


def test_text_without_commands_is_as_it_was() -> None:
    report = everywhere("a: b [c] # d ## e")
    assert "a: b [c] # d ## e" == decoded(report).tests[0].filename
