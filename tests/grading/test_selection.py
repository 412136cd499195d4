"""Which candidates of a part count, and which of them is told of."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from grader.assignment import Assignment, CheckTable, PartTable
from grader.checks import kinds as registered
from grader.evidence.case import Case, Evidence, Outputs, Problem, Stop
from grader.grading.judge import (
    Graded,
    Refused,
    computes,
    given_problem,
    nothing_counts,
    select,
    stop_of,
)
from grader.language import foreign
from grader.messages.kernel import Capture, CaptureFailure
from grader.report import Check, Part
from tests.evidence.factory import ORACLE, case, module

assert registered.__all__

PART = PartTable(
    id="conv",
    title="A convolution",
    entry_kind="module",
    entry=("MyConv", "MyConv*"),
    check=(CheckTable("blocks", "tensorir", 4), CheckTable("equivalence", "equivalence", 6)),
)
OTHER_PART = PartTable(
    id="add", title="An addition", entry_kind="module", entry=("MyAdd",), check=PART.check
)
SCHEDULE = PartTable(
    id="conv", title="A schedule", entry_kind="schedule", entry=("sch",), check=PART.check
)
OTHER_SCHEDULE = PartTable(
    id="add", title="Another", entry_kind="schedule", entry=("MyAdd",), check=PART.check
)
ASSIGNMENT = Assignment(
    slug="small", title="Small", version=1, points=20, part=(PART, OTHER_PART), oracle=ORACLE
)
OUTPUTS = Outputs(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros(1, np.bool_))
NOT_CALLED = Problem(foreign("It takes one argument."))


def graded(
    name: str, *, named: bool, blocks: bool, right: bool, fits: bool = True, cell: int = 1
) -> Graded:
    """Return what two checks, of 4 and 6 points, said of a candidate."""
    checks = tuple(
        Check(id, foreign(id), points * good, points, "passed" if good else "failed", foreign(""))
        for id, points, good in (("blocks", 4, blocks), ("equivalence", 6, right))
    )
    part = Part("conv", foreign("A convolution"), sum(each.score for each in checks), 10, checks)
    found: Case = replace(
        case(module()), evidence=Evidence(outputs=OUTPUTS if fits else NOT_CALLED)
    )
    return Graded(part, Capture("conv", name, cell, named, b"{}"), found, fits)


def names(*candidates: Graded, part: PartTable = PART, raised: bool = False) -> list[str]:
    failures = [CaptureFailure("conv", "MyConv", 1, "raised")] if raised else []
    selected = select(ASSIGNMENT, part, list(candidates), failures)
    return [each.capture.name for each in selected if each.capture is not None]


DRAFT = graded("MyConv", named=True, blocks=True, right=False)
EXAMPLE = graded("MyConv", named=True, blocks=False, right=False, fits=False)
RIGHT = graded("mine", named=False, blocks=False, right=True)
WRONG = graded("mine", named=False, blocks=True, right=False)


def test_another_name_counts_where_it_alone_computes_the_part() -> None:
    assert ["mine", "MyConv"] == names(DRAFT, RIGHT)
    assert ["mine", "MyConv"] == names(EXAMPLE, RIGHT)
    assert ["mine"] == names(RIGHT, raised=True)


def test_another_name_is_worth_nothing_beside_an_attempt_if_it_does_not_compute_the_part() -> None:
    assert ["MyConv"] == names(EXAMPLE, WRONG, raised=True)
    assert ["MyConv"] == names(graded("MyConv", named=True, blocks=False, right=False), WRONG)


def test_it_is_an_attempt_where_what_has_the_name_cannot_be_called_as_the_part_asks() -> None:
    assert ["mine", "MyConv"] == names(EXAMPLE, WRONG)


def test_of_what_is_worth_the_same_that_which_came_nearer_is_told() -> None:
    tried = graded("mine", named=False, blocks=False, right=False)
    assert ["mine", "MyConv"] == names(EXAMPLE, tried)


def test_without_the_name_what_is_worth_nothing_is_not_told() -> None:
    assert [] == names(graded("mine", named=False, blocks=False, right=False))


def test_what_another_part_asks_for_is_no_answer_unless_nothing_is_missing() -> None:
    assert [] == names(graded("MyAdd", named=False, blocks=False, right=True))
    assert ["MyAdd"] == names(graded("MyAdd", named=False, blocks=True, right=True))


@pytest.mark.parametrize("beside", [EXAMPLE, DRAFT])
def test_who_gave_both_names_has_said_which_is_which(beside: Graded) -> None:
    complete = graded("MyAdd", named=False, blocks=True, right=True)
    assert ["MyConv"] == names(beside, complete)


def test_of_schedules_all_count() -> None:
    assert ["MyConv", "mine"] == names(DRAFT, WRONG, part=SCHEDULE)


def test_of_schedules_that_are_worth_the_same_another_parts_comes_last() -> None:
    """`sch*` fits `sch_tensorized`, which the next part asks for: it stood for `sch` there."""
    others = graded("MyAdd", named=True, blocks=False, right=False)
    own = graded("sch", named=True, blocks=False, right=False)
    assert ["sch", "MyAdd"] == names(others, own, part=SCHEDULE)
    assert ["MyAdd", "sch"] == names(others, own, part=OTHER_SCHEDULE)


def test_a_schedule_that_is_refused_is_told_before_a_module_that_is_none() -> None:
    """Who schedules the module with the library's call has not handed in that of part 1."""
    refused, example = (
        replace(each, case=None, capture=msgspec.structs.replace(each.capture, trace=b"[]"))
        for each in (
            graded(name, named=name == "sch", blocks=False, right=False, fits=False)
            for name in ("sch", "example")
        )
    )
    module = graded("mod", named=False, blocks=False, right=False)
    found = names(module, example, refused, part=SCHEDULE)
    assert ["sch", "mod", "example"] == found


def test_where_a_module_is_asked_for_one_that_runs_is_told_before_a_refused_schedule() -> None:
    """Only the best one is explained, and earns points for the layers that are right."""
    returned = graded("MyConv2", named=True, blocks=False, right=False, fits=False)
    assert returned.capture is not None
    scheduled = msgspec.structs.replace(returned.capture, trace=b"[]")
    refused = replace(returned, case=None, capture=scheduled)
    plain = graded("MyConv", named=True, blocks=False, right=False)
    assert ["MyConv", "MyConv2"] == names(refused, plain)


def test_of_schedules_that_earn_nothing_the_one_with_the_name_is_told() -> None:
    """Its pipeline could not be built; a schedule drawn from the notebook's space could."""
    drawn = graded("each", named=False, blocks=False, right=False, cell=9)
    own = graded("sch", named=True, blocks=False, right=False, fits=False)
    assert ["sch", "each"] == names(drawn, own, part=SCHEDULE)


def test_where_several_are_asked_for_one_without_the_name_must_fit() -> None:
    """Who left the convolution out was told that the parameters of the product are none of its."""
    assignment = msgspec.structs.replace(ASSIGNMENT, part=(SCHEDULE, OTHER_SCHEDULE))
    other, own = (
        graded("s", named=False, blocks=False, right=False, fits=fits) for fits in (False, True)
    )
    assert [own] == select(assignment, SCHEDULE, [other, own], [])


def test_the_longer_pattern_claims_a_schedule() -> None:
    """`sch_tensor` is the next part's, though no part asks for it by that very name."""
    wide, narrow = (
        msgspec.structs.replace(SCHEDULE, id=each, entry=entry)
        for each, entry in (("wide", ("sch", "sch*")), ("narrow", ("sch_tensorized", "sch_t*")))
    )
    assignment = msgspec.structs.replace(ASSIGNMENT, part=(wide, narrow))
    own, others = (
        graded(each, named=True, blocks=False, right=False) for each in ("sch_2", "sch_tensor")
    )

    def first(part: PartTable, *each: Graded) -> str:
        found = select(assignment, part, list(each), ())[0]
        return found.capture.name if found.capture is not None else ""

    assert ("sch_2", "sch_tensor") == (first(wide, others, own), first(narrow, own, others))


class TestStop:
    """Where a schedule stops that is not the graded one: its own part is told."""

    STOP = Stop(3, 2, "sch.fuse(i, j)", "fuse: it is refused.")

    def stopped(self, name: str, *, fits: bool = True) -> Graded:
        found = graded(name, named=False, blocks=False, right=False, fits=fits)
        assert found.case is not None
        evidence = replace(found.case.evidence, stopped=self.STOP)
        return replace(found, case=replace(found.case, evidence=evidence))

    def test_a_draft_of_the_part_is_told(self) -> None:
        assert self.STOP == stop_of(ASSIGNMENT, SCHEDULE, [RIGHT, self.stopped("mine")])

    @pytest.mark.parametrize(("name", "fits"), [("MyAdd", True), ("product", False)])
    def test_the_schedule_of_another_part_is_not(self, name: str, *, fits: bool) -> None:
        assert stop_of(ASSIGNMENT, SCHEDULE, [RIGHT, self.stopped(name, fits=fits)]) is None


def test_a_part_without_a_comparison_is_computed_by_what_is_complete() -> None:
    part = PartTable(
        id="conv", title="", entry_kind="module", entry=("MyConv",), check=PART.check[:1]
    )
    half = Part("conv", foreign(""), 4, 4, WRONG.part.checks[:1])
    assert computes(part, replace(WRONG, part=half))


def test_of_what_is_given_only_what_bears_the_name_is_told() -> None:
    given = Refused(Capture("conv", "Target", 7, False, b"{}"))
    assert given_problem([given], PART) is None
    assert given_problem([], PART) is None
    problem = given_problem([Refused(Capture("conv", "MyConv", 3, True, b"{}"))], PART)
    assert problem is not None
    assert "`MyConv` (code cell 3) comes from the assignment" in problem.reason.english
    assert given_problem([given], SCHEDULE) is not None


def test_of_steps_that_lead_to_what_is_given_and_prove_nothing_the_reason_is_told() -> None:
    """Who annotated a loop with a pipeline was told to write something."""
    why = foreign("the annotation is not replayed")
    problem = given_problem([Refused(DRAFT.capture, why)], SCHEDULE)
    assert problem is not None
    assert problem.reason.english.endswith(
        "no proof that your schedule produces it: the annotation is not replayed."
    )
    assert "given" == problem.code


class TestNothingCounts:
    LOST = Problem(foreign("The cell failed."), code="unfinished_cell")
    ABSENT = Problem(foreign("There is no schedule."), code="absent")

    def test_a_cell_that_failed_is_the_reason_where_nobody_named_what_is_given(self):
        lecture = Refused(Capture("transform", "mod", 3, False, b"{}"))
        assert nothing_counts([lecture], SCHEDULE, self.LOST) is self.LOST

    def test_what_is_given_is_the_reason_where_it_was_named(self):
        named = Refused(Capture("transform", "sch", 3, True, b"{}"))
        assert "given" == nothing_counts([named], SCHEDULE, self.LOST).code

    def test_or_where_nothing_failed(self):
        lecture = Refused(Capture("transform", "mod", 3, False, b"{}"))
        assert "given" == nothing_counts([lecture], SCHEDULE, self.ABSENT).code
        assert nothing_counts([], SCHEDULE, self.ABSENT) is self.ABSENT
