"""The report as PrairieLearn's results.json, read by what its documentation says of it."""

from __future__ import annotations

from typing import Annotated, cast

import msgspec
import pytest
from msgspec import Meta
from msgspec.structs import replace

from grader.language import foreign
from grader.render.audience import KEPT_BACK
from grader.render.formats import render_as
from grader.render.prairielearn import MOST_BYTES, render_prairielearn
from grader.report import CellProblem, Environment, Report, ungraded_report
from tests import sample_reports
from tests.render.foreign import HARMFUL, everywhere
from tests.render.test_formats import NOW


class Test(msgspec.Struct, forbid_unknown_fields=True):
    """A test, as the element pl-external-grader-results shows it."""

    __test__ = False

    name: str
    points: float
    max_points: float
    message: str = ""
    output: str = ""
    description: str = ""


class Specified(msgspec.Struct, forbid_unknown_fields=True):
    """The document. It may have more fields; the element shows none but these."""

    score: Annotated[float, Meta(ge=0, le=1)]
    gradable: bool = True
    message: str = ""
    output: str = ""
    format_errors: list[str] = []
    tests: list[Test] = []


def decoded(content: bytes) -> Specified:
    return msgspec.json.decode(content, type=Specified, strict=True)


BROKEN = ungraded_report("broken.ipynb", foreign("No notebook."), Environment("3.11", "CPU", 4, {}))
REPORTS = [
    sample_reports.typical(),
    sample_reports.full_marks(),
    sample_reports.nothing_to_grade(),
    sample_reports.korean_and_chinese(),
    sample_reports.hostile(),
    everywhere(HARMFUL[0], "ko"),
    BROKEN,
]


@pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
def test_it_is_what_the_documentation_says(report: Report) -> None:
    assert decoded(render_prairielearn(report))


def test_the_score_is_a_share_of_the_points() -> None:
    scores = [decoded(render_prairielearn(each)).score for each in REPORTS[:3]]
    assert [0.775, 1.0, 0.0] == scores


def test_points_of_the_tests_are_those_of_the_checks() -> None:
    report = sample_reports.typical()
    tests = decoded(render_prairielearn(report)).tests
    checks = [check for part in report.parts for check in part.checks]
    assert [(each.score, each.max_score) for each in checks] == [
        (each.points, each.max_points) for each in tests
    ]


def test_what_could_not_be_graded_costs_no_attempt_and_says_why() -> None:
    found = decoded(render_prairielearn(BROKEN))
    assert (False, ["No notebook."]) == (found.gradable, found.format_errors)


def test_where_all_is_hidden_there_is_no_score() -> None:
    """A score of 0 would be a grade."""
    report = sample_reports.typical()
    hidden = tuple(
        replace(part, checks=tuple(replace(each, visibility="hidden") for each in part.checks))
        for part in report.parts
    )
    found = decoded(render_as("prairielearn", replace(report, parts=hidden), "student", NOW))
    assert (False, []) == (found.gradable, found.tests)
    assert KEPT_BACK.english in found.format_errors


def test_it_is_never_larger_than_the_service_takes() -> None:
    """Whoever fills error messages gets short ones; the points stay."""
    report = sample_reports.typical()
    part = report.parts[0]
    long = replace(part.checks[0], score=0.0, verdict="failed", reason=foreign("x" * 4000))
    many = replace(part, checks=(long,) * 2000)
    loud = cast("CellProblem", replace(report.problems[0], message=foreign("y" * 4000)))
    whole = replace(report, parts=(many,), problems=(loud,) * 50)
    content = render_prairielearn(whole)
    assert len(content) <= MOST_BYTES
    assert 2000 == len(decoded(content).tests)
