"""From checks to a part's points."""

from __future__ import annotations

import numpy as np
import pytest

from grader.assignment import CheckTable, PartTable
from grader.errors import CourseError
from grader.messages import CaptureFailure
from grader.referee import checks
from grader.referee.evidence import Problem
from grader.referee.judge import explain_absence, judge_case, judge_problem
from tests.referee.factory import argument, call, case, module, outputs, softmax

assert checks.__all__
EXTERN = call("extern", "env.c", argument("input", 4, 1, 28, 28))


def part(*tables: CheckTable, kind="function") -> PartTable:
    return PartTable(
        id="part", title="A part", entry_kind=kind, entry=("create", "create*"), check=tables
    )


REQUIRED = CheckTable(id="pure", kind="pure_tir", required=True)
EQUAL = CheckTable(id="equal", kind="equivalence", points=10)


def right(facts):
    return case(facts, outputs=outputs(softmax(4).astype(np.float32), softmax(4)))


class TestJudgeCase:
    def test_points_of_passed_checks_add_up(self):
        assert 10 == judge_case(part(REQUIRED, EQUAL), right(module())).score

    def test_a_failed_required_check_makes_the_others_worth_nothing_and_says_so(self):
        judged = judge_case(part(REQUIRED, EQUAL), right(module(EXTERN)))
        assert 0 == judged.score
        assert ("not_graded", True) == (
            judged.checks[1].verdict,
            "Counts only once" in judged.checks[1].reason,
        )

    def test_the_part_says_where_the_module_came_from(self):
        origin = judge_case(part(EQUAL), right(module())).origin
        assert ("create", 3) == (origin.name, origin.cell)

    def test_an_unknown_kind_of_check_is_the_courses_error(self):
        table = CheckTable(id="x", kind="nonsense", points=10)
        with pytest.raises(CourseError, match="unknown kind"):
            judge_case(part(table), right(module()))

    def test_a_misspelt_option_is_the_courses_error(self):
        table = CheckTable(id="x", kind="equivalence", points=10, options={"tolerance": 1})
        with pytest.raises(CourseError, match="options"):
            judge_case(part(table), right(module()))


def test_a_problem_of_the_part_is_the_reason_of_every_check():
    judged = judge_problem(part(REQUIRED, EQUAL), Problem("It is not there.", "Write it."))
    assert 0 == judged.score
    assert {"It is not there."} == {check.reason for check in judged.checks}


class TestExplainAbsence:
    def failure(self, reason, **fields) -> CaptureFailure:
        return CaptureFailure("part", "create", 5, reason, **fields)

    def test_without_an_entry_point_its_name_is_given(self):
        assert "create" in explain_absence(part(EQUAL), ()).reason

    def test_the_last_failure_counts(self):
        failures = (
            self.failure("not_a_module", message="None"),
            self.failure("raised", error_name="TypeError", message="bad", line=7),
        )
        problem = explain_absence(part(EQUAL), failures)
        assert "create (cell 5) raised TypeError at line 7: bad" == problem.reason

    def test_an_unsolved_stub_is_called_so(self):
        problem = explain_absence(
            part(EQUAL), (self.failure("raised", error_name="NotImplementedError"),)
        )
        assert "not solved yet" in problem.reason

    def test_a_missing_schedule_is_called_so(self):
        assert "No schedule" in explain_absence(part(EQUAL, kind="schedule"), ()).reason
