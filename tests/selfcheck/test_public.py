"""Which checks are made in a live notebook."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from grader.assignment import Assignment, CheckTable, PartTable
from grader.course import load_course
from grader.evidence.case import Problem
from grader.grading.judge import judge_problem
from grader.language import foreign
from grader.report import Check, Origin, Part
from grader.selfcheck.public import complete, hidden_points, published, restrict, undecided
from tests.our_course import our_course
from tests.render.test_audience import DIAGNOSIS, SAMPLE
from tests.selfcheck.kernels import COURSE

CONVOLUTION = our_course().get("e2e-conv").assignment
TRIO = load_course(COURSE).get("trio").assignment
KEPT = load_course(COURSE.parent / "visibility").get("visibility").assignment
NOT_RUN = "It was not checked, because modules cannot run here."


def part(assignment: Assignment, name: str) -> PartTable:
    return next(each for each in assignment.part if each.id == name)


def judged(table: PartTable) -> Part:
    """A part whose checks all passed."""
    checks = tuple(
        Check(each.id, foreign(each.id), each.points, each.points, "passed", foreign(""))
        for each in table.check
    )
    return Part(
        table.id, foreign(table.title), table.points, table.points, checks, Origin("sch", 3)
    )


def names(tables: tuple[CheckTable, ...] | tuple[Check, ...]) -> list[str]:
    return [each.id for each in tables]


class TestPublished:
    def test_hidden_parts_and_what_only_they_compute_are_left_out(self) -> None:
        torch = our_course().get("from-torch").assignment
        public = published(torch)
        hidden = {part.id for part in torch.part if part.hidden}
        assert hidden
        assert {part.id for part in torch.part} - hidden == {part.id for part in public.part}
        assert {part.computation for part in public.part} == {
            each.id for each in public.computation
        }
        assert sum(part.points for part in public.part) == public.points < torch.points

    def test_without_hidden_parts_an_assignment_is_published_whole(self) -> None:
        assert CONVOLUTION == published(CONVOLUTION)


class TestVisibility:
    """A self-check answers as often as it is asked: what is kept back is not asked there."""

    def test_what_is_shown_later_or_never_is_left_out(self) -> None:
        public = published(KEPT)
        assert {
            "model": ["structure", "dataflow"],
            "schedule": ["pure_tir", "equivalence"],
        } == {each.id: names(each.check) for each in public.part}
        assert 11 == public.points

    def test_points_without_a_reason_are_decided_later(self) -> None:
        table = part(published(KEPT), "model")
        made = part(restrict(published(KEPT), ("model",), runs=True), "model")
        assert ["structure"] == names(made.check)
        shown = complete(table, judged(made), foreign(""))
        assert "decided when graded" in shown.checks[1].reason.english
        assert ("not_graded", 0, 0) == (
            shown.checks[1].verdict,
            shown.checks[1].score,
            shown.checks[1].max_score,
        )
        assert 2 == undecided(table, made)

    @pytest.mark.parametrize("visibility", ["visible", "after_due", "score_only", "hidden"])
    def test_what_explains_a_comparison_is_shown_with_it(self, visibility: str) -> None:
        """Another check may have had the module run, and its outputs compared."""
        checks = (
            CheckTable(id="written", kind="writes_output"),
            CheckTable(id="equal", kind="equivalence", visibility=visibility),
        )
        one = replace(part(TRIO, "extern"), check=checks)
        (table,) = published(replace(TRIO, part=(one,), points=0.0)).part
        (made,) = restrict(replace(TRIO, part=(table,), points=0.0), ("extern",), runs=True).part
        tried = replace(
            judge_problem(made, Problem(foreign(""))),
            origin=Origin("sch", 3),
            diagnosis=DIAGNOSIS,
            sample=SAMPLE,
        )
        whole = complete(table, tried, foreign(""))
        told = (DIAGNOSIS, SAMPLE) if visibility == "visible" else (None, None)
        assert told == (whole.diagnosis, whole.sample)

    def test_points_of_hidden_parts_are_named_those_of_hidden_checks_not(self) -> None:
        torch = our_course().get("from-torch").assignment
        assert torch.points - published(torch).points == hidden_points(torch) > 0
        assert 0 == hidden_points(KEPT)
        parts = tuple(replace(each, hidden=True) for each in KEPT.part)
        assert 11 == hidden_points(replace(KEPT, part=parts))


class TestRestrict:
    def test_only_the_named_parts_are_left_in_their_order(self) -> None:
        kept = restrict(TRIO, ("schedule", "model"), runs=True)
        assert ["model", "schedule"] == [each.id for each in kept.part]
        assert 20 == kept.points

    def test_what_is_timed_is_left_out(self) -> None:
        kept = part(restrict(CONVOLUTION, ("schedule",), runs=True), "schedule")
        assert ["pure_tir", "equivalence", "steps"] == names(kept.check)

    def test_without_runs_what_is_read_off_the_module_is_left(self) -> None:
        kept = restrict(TRIO, ("model", "extern", "schedule"), runs=False)
        assert [["structure"], [], ["pure_tir"]] == [names(each.check) for each in kept.part]

    def test_a_part_without_points_is_an_assignment_all_the_same(self) -> None:
        assert 0 == restrict(TRIO, ("schedule",), runs=False).part[0].points


class TestComplete:
    def test_checks_that_were_left_out_are_back_in_their_places(self) -> None:
        table = part(CONVOLUTION, "schedule")
        made = part(restrict(CONVOLUTION, ("schedule",), runs=True), "schedule")
        whole = complete(table, judged(made), foreign(""))
        assert names(table.check) == names(whole.checks)
        assert (15, 30) == (whole.score, whole.max_score)
        timed = whole.checks[-1]
        assert ("not_graded", 0) == (timed.verdict, timed.score)
        assert "timed when graded" in timed.reason.english

    def test_what_could_not_be_run_says_why(self) -> None:
        table = part(TRIO, "model")
        made = part(restrict(TRIO, ("model",), runs=False), "model")
        whole = complete(table, judged(made), foreign(NOT_RUN))
        assert ["", NOT_RUN] == [check.reason.english for check in whole.checks]

    def test_where_nothing_was_found_all_checks_give_that_reason(self) -> None:
        table = part(CONVOLUTION, "schedule")
        made = part(restrict(CONVOLUTION, ("schedule",), runs=True), "schedule")
        whole = complete(
            table,
            judge_problem(made, Problem(foreign("Nothing there."), foreign("Look."))),
            foreign(""),
        )
        assert {("Nothing there.", "Look.")} == {
            (each.reason.english, each.hint.english) for each in whole.checks
        }
        assert judge_problem(table, Problem(foreign("Nothing there."), foreign("Look."))) == whole

    def test_titles_are_those_of_the_grading(self) -> None:
        table = part(CONVOLUTION, "schedule")
        made = part(restrict(CONVOLUTION, ("schedule",), runs=True), "schedule")
        whole = complete(table, judged(made), foreign(""))
        missing = judge_problem(table, Problem(foreign("")))
        assert missing.checks[-1].title == whole.checks[-1].title


@pytest.mark.parametrize(("name", "points"), [("schedule", 15), ("emit_te", 0)])
def test_points_of_what_is_left_out_are_undecided(name: str, points: float) -> None:
    made = part(restrict(CONVOLUTION, (name,), runs=True), name)
    assert points == undecided(part(CONVOLUTION, name), made)
