"""The points of a report as result.json of Classroom 50.

`SPECIFIED` is from the published schema, result-v1.schema.json, and `refusal` says what its
`validate_result` says beyond it; the fields of the repository are the autograder's.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from grader.language import foreign
from grader.render.classroom50 import render_classroom50
from grader.report import Environment, Report, ungraded_report
from tests import sample_reports
from tests.render.foreign import HARMFUL, everywhere

Whole = Annotated[int, Meta(ge=0)]


class Test(msgspec.Struct, rename="kebab"):
    """A test: fields beyond these are kept."""

    __test__ = False

    test_name: Annotated[str, Meta(min_length=1)]
    passed: bool
    score: Whole
    max_score: Whole


class Specified(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """What the schema wants of a report; no other field is allowed."""

    schema: Literal["classroom50/result/v1"]
    score: Whole
    max_score: Whole
    tests: list[Test]


def decoded(report: Report) -> Specified:
    found = msgspec.json.decode(render_classroom50(report), type=Specified, strict=True)
    assert found.score <= found.max_score
    assert all(each.score <= each.max_score for each in found.tests)
    return found


def document(report: Report) -> Any:
    return json.loads(render_classroom50(report))


BROKEN = ungraded_report("broken.ipynb", foreign("No notebook."), Environment("3.11", "CPU", 4, {}))
REPORTS = [
    sample_reports.typical(),
    sample_reports.full_marks(),
    sample_reports.nothing_to_grade(),
    sample_reports.korean_and_chinese(),
    sample_reports.hostile(),
    everywhere(HARMFUL[0], "zh"),
    BROKEN,
]


@pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
def test_it_is_what_the_schema_wants(report: Report) -> None:
    found = decoded(report)
    assert found.score == sum(each.score for each in found.tests)
    assert found.max_score == sum(each.max_score for each in found.tests)


def test_half_a_point_is_neither_lost_nor_made_up() -> None:
    """Its numbers are whole: 77.5 of 100 would be 77 or 78."""
    found = decoded(sample_reports.typical())
    assert (7750, 10000) == (found.score, found.max_score)


def test_points_are_told_as_they_are_as_well() -> None:
    told = [each["points"] for each in document(sample_reports.full_marks())["tests"]]
    assert told and all(" of " in each for each in told)


def test_lost_checks_have_not_passed_and_say_why() -> None:
    tests = document(sample_reports.typical())["tests"]
    assert {True, False} == {each["passed"] for each in tests}
    assert all(each["message"] for each in tests if not each["passed"])
    assert not any(each["message"] for each in tests if each["passed"])


def test_what_could_not_be_graded_has_not_passed() -> None:
    """Without tests Classroom 50 calls it a success."""
    (only,) = document(BROKEN)["tests"]
    assert ("broken.ipynb", False, "No notebook.") == (
        only["test-name"],
        only["passed"],
        only["message"],
    )


def test_nothing_in_it_is_a_command_of_the_log() -> None:
    content = render_classroom50(sample_reports.hostile()).decode()
    assert "::error" not in content and "##[" not in content
