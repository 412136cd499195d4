"""From what happened to a grade, and the sentences that say how."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from grader.gradebook.grades import (
    Account,
    Adjustment,
    Attempt,
    Extension,
    Grade,
    Grading,
    PartPoints,
    Rules,
    derive,
    derive_all,
    show,
)
from grader.lateness import LatePolicy
from grader.render.final_grade import FinalGrade

DUE = datetime(2026, 12, 1, 23, 59, tzinfo=timezone.utc)
NOW = datetime(2026, 12, 9, tzinfo=timezone.utc)
TENTH = LatePolicy(percent=Decimal(10))


def grading(*scores: str, settled: bool = True, most: str = "50") -> Grading:
    parts = tuple(
        PartPoints(name, Decimal(score), Decimal(most))
        for name, score in zip("ab", scores, strict=False)
    )
    total = sum((part.score for part in parts), Decimal(0))
    return Grading(1, total, Decimal(most) * 2, parts, settled, NOW, "0.1.0")


def attempt(
    number: int, *scores: str, late: timedelta | None = None, changes: tuple[Adjustment, ...] = ()
) -> Attempt:
    handed_in = None if late is None else DUE + late
    gradings = (grading(*scores),) if scores else ()
    return Attempt(number, number, "hw.ipynb", "ab", handed_in, NOW, gradings, changes)


def change(id: int, part: str = "", **fields: Any) -> Adjustment:
    found = {"points": None, "factor": None, "takes_back": None, **fields}
    return Adjustment(id=id, part=part, reason="so", who="eve", recorded=NOW, **found)


def account(*attempts: Attempt, **rules: Any) -> Account:
    return Account(Rules("hw", Decimal(100), **{"due": DUE, **rules}), (), attempts)


def points(*attempts: Attempt, **rules: Any) -> Decimal | None:
    return derive(account(*attempts, **rules)).points


def english(grade: Grade) -> list[str]:
    return [line.english for line in grade.lines]


def test_who_handed_in_nothing_has_no_grade_and_not_zero() -> None:
    found = derive(account())
    assert (None, None) == (found.points, found.attempt)
    assert "no grade" in english(found)[-1]


@pytest.mark.parametrize(
    ("counts", "wanted"), [("best", (2, 80)), ("first", (1, 30)), ("last", (3, 50))]
)
def test_the_attempt_that_counts_is_the_one_that_the_assignment_says(
    counts: str, wanted: tuple[int, int]
) -> None:
    attempts = attempt(1, "30"), attempt(2, "50", "30"), attempt(3, "50"), attempt(4)
    found = derive(account(*attempts, counts=counts))
    assert wanted == (found.attempt, found.points)


@pytest.mark.parametrize(("counts", "wanted"), [("last", 3), ("first", 2)])
def test_of_notebooks_handed_in_together_the_best_counts(counts: str, wanted: int) -> None:
    """Their names are in no order: a draft may be called `z.ipynb`."""
    first = [msgspec.structs.replace(attempt(n, s), together="a") for n, s in ((1, "3"), (2, "9"))]
    last = [msgspec.structs.replace(attempt(n, s), together="b") for n, s in ((3, "8"), (4, "1"))]
    found = derive(account(*first, *last, counts=counts))
    assert wanted == found.attempt
    assert f"Attempt {wanted} counts: the best of 2 that were submitted together." in english(found)


def test_points_of_two_rubrics_are_not_compared() -> None:
    old, new = attempt(1, "50", "50"), attempt(2, "30")
    of_old = msgspec.structs.replace(old.gradings[0], rubric="a", id=1)
    of_new = msgspec.structs.replace(new.gradings[0], rubric="b", id=2)
    old = msgspec.structs.replace(old, gradings=(of_old,))
    new = msgspec.structs.replace(new, gradings=(of_new,))
    found = derive(account(old, new))
    assert (2, Decimal(30), False) == (found.attempt, found.points, found.settled)
    assert any("Attempt 1 was graded by another rubric" in line for line in english(found))
    assert derive(account(old, new, counts="last")).settled


def test_what_the_lms_calls_late_without_a_time_is_told() -> None:
    late = msgspec.structs.replace(attempt(1, "30"), told_late=True)
    told = english(derive(account(late, late=TENTH)))
    assert any("does not say by how much" in line for line in told)
    known = msgspec.structs.replace(late, handed_in=DUE + timedelta(hours=1))
    assert 27 == points(known, late=TENTH)


def test_of_equally_good_attempts_the_first_counts() -> None:
    assert 1 == derive(account(attempt(1, "30"), attempt(2, "30"))).attempt


def test_the_best_is_best_after_adjustments_and_lateness() -> None:
    late = attempt(2, "40", "10", late=timedelta(days=3))
    adjusted = attempt(1, "30", late=timedelta(0), changes=(change(1, points=Decimal(6)),))
    assert 36 == derive(account(adjusted, late, late=TENTH)).points
    assert 50 == derive(account(adjusted, late)).points


def test_the_newest_grading_supersedes_the_others() -> None:
    several = msgspec.structs.replace(attempt(1), gradings=(grading("10"), grading("20")))
    assert 20 == points(several)


def test_adjustments_are_applied_in_order_parts_first() -> None:
    changes = (
        change(1, factor=Decimal("0.5")),
        change(2, "a", points=Decimal("2.5")),
        change(3, "a", factor=Decimal("0.5")),
        change(4, points=Decimal(1)),
    )
    assert Decimal("22.25") == points(attempt(1, "40", "21.25", changes=changes)), (40 + 2.5) / 2
    assert [Decimal("21.25"), Decimal("21.25")] == [
        part.score for part in derive(account(attempt(1, "40", "21.25", changes=changes))).parts
    ]


def test_what_was_given_for_a_part_that_the_grading_does_not_have_counts_for_nothing() -> None:
    changes = (change(1, "gone", points=Decimal(4)), change(2, points=Decimal(1)))
    grade = derive(account(attempt(1, "40", changes=changes)))
    assert (Decimal(41), Decimal(100)) == (grade.points, grade.possible)
    assert ["a"] == [each.id for each in grade.parts]
    assert changes[:1] == grade.idle
    start = "There is no part gone in this grading, so adjustment 1 by "
    (line,) = (each for each in english(grade) if "gone" in each)
    assert line.startswith(start) and line.endswith("has no effect: so")


def test_what_is_taken_back_counts_as_little_as_its_counter_entry() -> None:
    changes = change(1, points=Decimal(5)), change(2, takes_back=1), change(3, points=Decimal(2))
    assert 42 == points(attempt(1, "40", changes=changes))


def test_nothing_falls_below_zero_and_a_bonus_may_go_beyond_all_points() -> None:
    assert 30 == points(attempt(1, "10", "30", changes=(change(1, "a", points=Decimal(-20)),)))
    assert 105 == points(attempt(1, "50", "50", changes=(change(1, points=Decimal(5)),)))


def test_a_third_is_rounded_once_at_the_end_and_that_is_said() -> None:
    thirds = attempt(1, "33.335", late=timedelta(0), changes=(change(1, factor=Decimal("0.1")),))
    found = derive(account(thirds))
    assert Decimal("3.33") == found.points
    assert any("3.33 points" in line for line in english(found)[:-1])


def test_a_hundred_tenths_are_ten() -> None:
    changes = tuple(change(each, points=Decimal("0.1")) for each in range(1, 101))
    assert "10" == show(points(attempt(1, "0", changes=changes)) or Decimal(0))


def test_an_extension_moves_the_due_date_of_one_student() -> None:
    given = Extension(DUE + timedelta(days=7), "ill", "eve", NOW)
    late = account(attempt(1, "50", late=timedelta(days=2)), late=TENTH)
    assert 40 == derive(late).points
    extended = msgspec.structs.replace(late, extensions=(given,))
    assert 50 == derive(extended).points
    sooner = Extension(DUE - timedelta(days=7), "a slip", "eve", NOW)
    assert 40 == derive(msgspec.structs.replace(late, extensions=(sooner,))).points
    taken_back = Extension(None, "not ill", "eve", NOW)
    assert 40 == derive(msgspec.structs.replace(late, extensions=(given, taken_back))).points


def test_free_days_are_used_up_in_the_order_of_due_dates() -> None:
    policy = LatePolicy(percent=Decimal(10), free_days=3)

    def due(slug: str, days: int) -> Account:
        rules = Rules(slug, Decimal(100), DUE + timedelta(days=days), policy)
        handed_in = DUE + timedelta(days=days + 2)
        given = msgspec.structs.replace(attempt(1, "50"), handed_in=handed_in)
        return Account(rules, (), (given,))

    found = derive_all([due("c", 60), due("a", 0), due("b", 30)])
    used = {slug: (each.lateness.free_days, each.points) for slug, each in found.items()}
    assert {"a": (2, 50), "b": (1, 45), "c": (0, 40)} == used


def test_an_attempt_that_does_not_count_uses_no_free_days() -> None:
    policy = LatePolicy(percent=Decimal(10), free_days=3)
    bad = attempt(2, "10", late=timedelta(days=2))
    found = derive(account(attempt(1, "50", late=timedelta(0)), bad, late=policy), 3)
    assert (1, 0) == (found.attempt, found.lateness.free_days)


def test_a_page_is_given_the_grade_with_its_lines_and_nothing_where_there_is_none() -> None:
    changes = (change(1, points=Decimal("-2.5")),)
    grade = derive(account(attempt(1, "20", "30", changes=changes)))
    assert grade.final == FinalGrade(47.5, 100.0, 0.0, grade.lines, parts=grade.decided)
    assert None is derive(account()).final


def test_every_step_has_its_line() -> None:
    """This is what docs/gradebook.md shows."""
    changes = (change(1, "a", points=Decimal("2.5")),)
    late = attempt(2, "30", "20", late=timedelta(days=1, hours=2), changes=changes)
    found = derive(account(attempt(1, "10", late=timedelta(0)), late, late=TENTH))
    assert [
        "hw is due 2026-12-01 23:59:00+00:00.",
        "Attempt 1, hw.ipynb, submitted 2026-12-01 23:59:00+00:00: 10 of 100.",
        "Attempt 2, hw.ipynb, submitted 2026-12-03 01:59:00+00:00: 42 of 100.",
        "Attempt 2 counts: the best of 2.",
        "Graded 2026-12-09 00:00:00+00:00 by grader 0.1.0: 50 of 100.",
        "Part a: 30 of 50.",
        "Part b: 20 of 50.",
        "Part a: +2.5 gives 32.5; adjustment 1 by eve, 2026-12-09 00:00:00+00:00: so",
        "Submitted 1 d 2 h late: 20% is deducted, 10.5 points.",
        "Grade: 42 of 100.",
    ] == english(found)


def test_what_the_machine_left_undecided_is_told() -> None:
    undecided = msgspec.structs.replace(attempt(1), gradings=(grading("10", settled=False),))
    found = derive(account(undecided))
    assert not found.settled
    assert any("grade it again" in line for line in english(found))


@pytest.mark.parametrize("language", ["zh", "ko"])
def test_a_grade_is_explained_in_every_language(language: str) -> None:
    found = derive(account(attempt(1, "30", late=timedelta(days=2)), late=TENTH))
    assert not any(line.in_(language) == line.english for line in found.lines)


@pytest.mark.parametrize(
    ("number", "said"), [("40.00", "40"), ("37.50", "37.5"), ("0.005", "0.01"), ("-0.001", "0")]
)
def test_points_have_two_decimals_at_most(number: str, said: str) -> None:
    assert said == show(Decimal(number))
