"""From checks to a part's points."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.assignment import CheckTable, PartTable
from grader.checks import kinds as checks
from grader.errors import CourseError
from grader.evidence.case import Problem, Replay, Stop, TimedSchedule
from grader.grading.judge import first_timing, judge_case, judge_problem
from grader.language import foreign
from grader.report import Scripts
from tests import sample_reports
from tests.evidence.factory import (
    WEIGHT,
    argument,
    call,
    case,
    convolution,
    module,
    outputs,
    softmax,
    update,
)
from tests.our_course import our_course

assert checks.__all__
CONV = call("tir", "conv2d", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT))
EXTERN = call("extern", "env.c", argument("input", 4, 1, 28, 28))


def part(*tables: CheckTable, kind="function") -> PartTable:
    return PartTable(
        id="part", title="A part", entry_kind=kind, entry=("create", "create*"), check=tables
    )


REQUIRED = CheckTable(id="pure", kind="pure_tir", required=True)
EQUAL = CheckTable(id="equal", kind="equivalence", points=10)


def right(facts):
    return case(facts, outputs=outputs(softmax(4).astype(np.float32), softmax(4)))


def wrong(facts):
    return case(facts, outputs=outputs(1 - softmax(4).astype(np.float32), softmax(4)))


class TestJudgeCase:
    def test_points_of_passed_checks_add_up(self):
        assert 10 == judge_case(part(REQUIRED, EQUAL), right(module())).score

    def test_a_failed_required_check_makes_the_others_worth_nothing_and_says_so(self):
        judged = judge_case(part(REQUIRED, EQUAL), right(module(EXTERN)))
        assert 0 == judged.score
        assert ("not_graded", True) == (
            judged.checks[1].verdict,
            "Counts only when" in judged.checks[1].reason.english,
        )

    def test_checks_of_one_kind_are_told_apart(self):
        twice = (CheckTable(id=name, kind="dataflow", points=1) for name in ("first", "second"))
        titles = [
            each.title.english for each in judge_case(part(*twice, EQUAL), right(module())).checks
        ]
        assert ["(first)", "(second)", "right"] == [each.split()[-1] for each in titles]

    def test_a_schedule_that_stops_is_told_where_its_module_is_wrong_too(self):
        """Two mistakes: who mended the module was told of the step's error only then."""
        stop = Stop(3, 2, "sch.vectorize(k)", "", foreign("It is a sum."), foreign("Take another."))
        steps = {"kind": "split", "points": 4}
        lacking = CheckTable(
            id="steps",
            kind="schedule_steps",
            points=4,
            options={"weight": [32, 1, 3, 3], "steps": [steps]},
        )
        facts = module(CONV, functions={"conv2d": convolution(update())})
        scheduled = dataclasses.replace(wrong(facts).evidence, stopped=stop)
        equal = msgspec.structs.replace(EQUAL, required=True, points=0)
        judged = judge_case(
            part(equal, lacking, kind="schedule"),
            dataclasses.replace(wrong(facts), evidence=scheduled),
        )
        check = judged.checks[1]
        assert (0, "not_graded", "unfinished_cell") == (check.score, check.verdict, check.code)
        assert check.reason.english.startswith("The schedule stops in code cell 3, line 2")
        assert "Counts only when" in check.reason.english
        assert "Take another." in check.hint.english

    def test_the_part_says_where_the_module_came_from(self):
        origin = judge_case(part(EQUAL), right(module())).origin
        assert ("create", 3) == (origin.name, origin.cell)

    def test_the_part_shows_what_its_schedule_changed(self):
        scripts = Scripts("conv2d", "before", "after")
        scheduled = right(module())
        evidence = dataclasses.replace(
            scheduled.evidence, replay=Replay(proven=True, scripts=scripts)
        )
        judged = judge_case(part(EQUAL), dataclasses.replace(scheduled, evidence=evidence))
        assert scripts == judged.scripts

    def test_without_a_replay_the_part_shows_none(self):
        assert None is judge_case(part(EQUAL), right(module())).scripts

    def test_an_unknown_kind_of_check_is_the_courses_error(self):
        table = CheckTable(id="x", kind="nonsense", points=10)
        with pytest.raises(CourseError, match="unknown kind"):
            judge_case(part(table), right(module()))

    def test_a_misspelt_option_is_the_courses_error(self):
        table = CheckTable(id="x", kind="equivalence", points=10, options={"tolerance": 1})
        with pytest.raises(CourseError, match="options"):
            judge_case(part(table), right(module()))


def timed(share: float, width: float, points: float = 15.0, **options: float) -> float:
    """Return the points for a share of the reference's speed, known to so much of it."""
    reference = sample_reports.TIMING.reference_speedup
    timing = msgspec.structs.replace(
        sample_reports.TIMING,
        shapes=(msgspec.structs.replace(sample_reports.SHAPE, floor_us=1.0),),
        share=share,
        share_low=share - width / 2,
        share_high=share + width / 2,
        speedup=reference**share,
        ci_low=reference ** (share - width / 2),
        ci_high=reference ** (share + width / 2),
    )
    given = {"weight": list(WEIGHT), "full_at": 1.0, "grid": 0.1, **options}
    table = CheckTable(id="speed", kind="speed", points=points, options=given)
    evidence = case(module(), timed=TimedSchedule(timing, outputs_right=True))
    return judge_case(part(table), evidence).score


class TestRounding:
    """Points of a measurement are never finer than the measurement."""

    def test_a_certain_share_is_rounded_to_the_grid(self):
        assert 7.6 == timed(0.5042, width=0.0)

    @pytest.mark.parametrize(
        ("width", "points"), [(0.006, 7.6), (0.01, 7.6), (0.03, 7.5), (0.06, 8.0), (0.09, 8.0)]
    )
    def test_an_uncertain_one_to_a_coarser_grid(self, width, points):
        assert points == timed(0.5042, width=width)

    @given(st.floats(0.05, 1.2), st.floats(0.0, 0.1), st.floats(0.5, 40.0))
    def test_it_moves_points_by_no_more_than_the_grid_is_wide(self, share, width, points):
        exact = min(share, 1.0) * points
        uncertain = width * points
        assert abs(timed(share, width, points) - exact) <= max(0.05, 1.25 * uncertain) + 1e-6

    @given(st.floats(0.0, 1.5), st.floats(0.0, 0.5), st.floats(0.5, 40.0))
    def test_it_never_gives_more_than_all_points(self, share, width, points):
        assert 0.0 <= timed(share, width, points) <= points + 1e-6

    @given(st.floats(0.0, 0.1), st.floats(0.5, 40.0))
    def test_one_as_fast_as_the_reference_has_all_points_on_every_grid(self, width, points):
        assert points == pytest.approx(timed(1.0, width, points), abs=1e-6)

    @given(st.floats(0.0, 0.1), st.floats(1.0, 1.5))
    def test_a_bonus_is_not_rounded_up(self, width, share):
        assert 15.0 <= timed(share, width, bonus=0.1, stretch=1.25) <= 16.5

    @given(st.floats(0.0, 1.4), st.floats(0.0, 1.4), st.floats(0.5, 40.0))
    def test_more_is_never_rounded_to_less(self, one, other, points):
        less, more = sorted((one, other))
        assert timed(less, 0.0, points, bonus=0.2) <= timed(more, 0.0, points, bonus=0.2)


class TestVisibility:
    """Every check says what kind it is, and what students are shown of it."""

    SECRET = CheckTable(id="secret", kind="equivalence", points=2, visibility="hidden")

    def test_in_a_part_that_was_judged(self):
        judged = judge_case(part(REQUIRED, EQUAL, self.SECRET), right(module()))
        assert ["visible", "visible", "hidden"] == [each.visibility for each in judged.checks]
        assert ["pure_tir", "equivalence", "equivalence"] == [each.kind for each in judged.checks]

    def test_in_a_part_with_nothing_to_judge(self):
        judged = judge_problem(part(EQUAL, self.SECRET), Problem(foreign("It is not there.")))
        assert ["visible", "hidden"] == [each.visibility for each in judged.checks]

    def test_what_a_hidden_check_decides_is_hidden(self):
        """Otherwise the others, worth nothing while it fails, would tell that it does."""
        required = msgspec.structs.replace(REQUIRED, visibility="hidden")
        judged = judge_case(part(required, EQUAL), right(module(EXTERN)))
        assert ["hidden", "hidden"] == [each.visibility for each in judged.checks]


def test_a_problem_of_the_part_is_the_reason_of_every_check():
    judged = judge_problem(
        part(REQUIRED, EQUAL), Problem(absent := foreign("It is not there."), foreign("Write it."))
    )
    assert 0 == judged.score
    assert {absent} == {check.reason for check in judged.checks}


class TestFirstTiming:
    ASSIGNMENT = our_course().get("quantized").assignment

    def timings(self, *parts):
        return [msgspec.structs.replace(sample_reports.TIMING, part=each) for each in parts]

    def test_without_a_timed_part_there_is_none(self):
        assert None is first_timing([], self.ASSIGNMENT)

    def test_one_alone_needs_no_words(self):
        (only,) = self.timings("space")
        assert only == first_timing([only], self.ASSIGNMENT)

    def test_of_several_the_first_says_whose_it_is(self):
        found = first_timing(self.timings("transform", "space"), self.ASSIGNMENT)
        assert "transform" == found.part
        assert found.notes[-1].english.endswith("These are the times of: The product, scheduled.")
