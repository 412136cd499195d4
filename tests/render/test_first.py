"""What is to be mended first, and what is never advised."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from grader.language import NOTHING, Text, foreign, say
from grader.render.findings import first_cause, missing_parts
from grader.report import Cell, Check, Part, Report
from grader.report.parts import CheckCode
from tests import sample_reports


def check(
    code: CheckCode, score: float = 0.0, maximum: float = 10.0, why: str | Text = "", **more: Any
) -> Check:
    verdict = "passed" if score == maximum else "partial" if score else "failed"
    reason = foreign(why or f"{code} {maximum}") if isinstance(why, str) else why
    return Check(code, foreign(code), score, maximum, verdict, reason, code=code, **more)


def part(*checks: Check) -> Part:
    score, most = (sum(getattr(each, name) for each in checks) for name in ("score", "max_score"))
    return Part("p", foreign("p"), score, most, checks)


def of(*parts: Part) -> Report:
    return replace(sample_reports.typical(), parts=parts)


def first(*parts: Part) -> tuple[int, str, float] | None:
    """Return the place of the part, the code of the check, and the points, of what comes first."""
    cause = first_cause(of(*parts))
    return None if cause is None else (cause.part, cause.check.code, cause.points)


FULL = part(check("passed", 10.0))


class TestOrder:
    def test_where_nothing_is_lost_nothing_is_first(self) -> None:
        assert None is first(FULL, FULL)

    def test_what_brings_most_is_first(self) -> None:
        assert (2, "shape", 20) == first(
            FULL, part(check("values", 0, 5)), part(check("shape", 0, 20))
        )

    def test_of_equals_the_first_in_the_assignment(self) -> None:
        assert (0, "values", 10) == first(part(check("values")), part(check("shape")))

    def test_wrong_comes_before_missing_and_missing_before_better(self) -> None:
        wrong, missing, better = (
            part(check("values", 0, 1)),
            part(check("absent", 0, 40)),
            part(check("incomplete", 1, 90)),
        )
        assert (2, "values", 1) == first(missing, better, wrong)
        assert (1, "absent", 40) == first(better, missing)
        assert (0, "incomplete", 89) == first(better, FULL)

    def test_points_that_are_partly_there_count_by_what_is_missing(self) -> None:
        assert (1, "shape", 6) == first(
            part(check("values", 25, 30, "a")), part(check("shape", 4, 10, "b"))
        )


class TestCauses:
    def test_checks_that_lost_for_one_reason_are_one_cause(self) -> None:
        one = [check("not_built", 0, each, "TVM cannot build it.") for each in (3, 4)]
        assert (1, "not_built", 7) == first(part(check("values", 0, 6)), part(*one))

    def test_what_is_mended_by_one_cell_is_one_cause_in_all_parts(self) -> None:
        reason = say("{name} is not there: cell {cell}", name="a", cell=5)
        other = say("{name} is not there: cell {cell}", name="b", cell=5)
        elsewhere = say("{name} is not there: cell {cell}", name="c", cell=6)
        parts = [part(check("unfinished_cell", 0, 10, each)) for each in (reason, other)]
        third = part(check("unfinished_cell", 0, 15, elsewhere))
        assert (0, "unfinished_cell", 20) == first(*parts, third)

    def test_what_waits_for_the_only_cause_of_its_part_comes_with_it(self) -> None:
        waiting = check("waits", 0, 8)
        assert (1, "shape", 10) == first(
            part(check("values", 0, 9)), part(check("shape", 0, 2), waiting)
        )

    def test_what_waits_for_one_of_two_causes_is_counted_to_neither(self) -> None:
        waiting = check("waits", 0, 8)
        two = part(check("shape", 0, 2), check("dtype", 0, 3), waiting)
        assert (0, "values", 4) == first(part(check("values", 0, 4)), two)


class TestNeverAdvised:
    @pytest.mark.parametrize(
        "code",
        ["held", "waits", "withheld", "busy", "no_answer", "no_target", "undecided", "disturbed"],
    )
    def test_what_the_submission_does_not_decide_is_no_cause(self, code: CheckCode) -> None:
        assert None is first(part(check(code)))

    def test_what_has_to_be_graded_again_is_no_cause(self) -> None:
        assert None is first(part(check("crashed", again=True)))

    def test_what_nothing_is_said_of_is_no_cause(self) -> None:
        assert None is first(part(replace(check("values"), reason=NOTHING, hint=NOTHING)))

    def test_what_brings_no_points_is_no_cause(self) -> None:
        assert None is first(part(check("unmet", 0, 0)))


def is_missing(part: Part, *cells: Cell) -> bool:
    return bool(missing_parts(replace(of(part), cells=cells)))


class TestMissing:
    def test_a_part_of_which_nothing_was_found_is_missing(self) -> None:
        assert is_missing(part(check("absent"), check("absent")))
        assert is_missing(part(check("unsolved"), check("waits")))

    @pytest.mark.parametrize("code", ["raised", "unfinished_cell", "given", "values", "undecided"])
    def test_what_was_tried_is_not(self, code: CheckCode) -> None:
        assert not is_missing(part(check(code)))
        assert not is_missing(part(check("absent"), check(code)))

    def test_what_a_cell_of_the_handout_was_to_make_is(self) -> None:
        """It fails where the cells before it are not solved: nobody is to mend the handout."""
        reason = say("{name} is not there: cell {cell}", name="sch", cell=5)
        lost = part(check("unfinished_cell", 0, 30, reason))
        own, given = Cell("code", "sch = ...", 5), Cell("code", "sch = ...", 5, given=True)
        assert [False, True] == [is_missing(lost, own), is_missing(lost, given)]
        report = of(lost, part(check("absent", 0, 40)))
        found = [first_cause(replace(report, cells=(cell,))) for cell in (own, given)]
        assert [0, 1] == [cause.part for cause in found if cause is not None]

    def test_without_checks_nothing_is_known(self) -> None:
        assert not is_missing(part())
        assert not is_missing(part(check("waits")))
