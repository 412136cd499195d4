"""What a page is given of what a person decided of an attempt's parts."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from grader.gradebook.entries import Adjustment, Chosen, Marking, PartPoints
from grader.gradebook.grades import Grade, derive
from grader.language import NOTHING, foreign
from grader.render.final_grade import DecidedPart, Decision, DecisionItem
from tests.gradebook.test_grades import account, attempt, change


def decided(*changes: Adjustment, open: str = "0") -> tuple[DecidedPart, ...]:
    """What is decided of an attempt with 40 and 20 of 50 points, and a part that is `open`."""
    given = attempt(1, "40", "20", changes=changes)
    (grading,) = given.gradings
    by_hand = PartPoints("c", Decimal(0), Decimal(0), Decimal(open))
    graded = replace(grading, parts=(*grading.parts, by_hand))
    grade: Grade = derive(account(replace(given, gradings=(graded,))))
    return grade.decided


def test_parts_of_which_nobody_decided_anything_are_not_in_it() -> None:
    assert () == decided(change(1, points=Decimal(2)))
    assert ["b"] == [each.id for each in decided(change(1, "b", points=Decimal(2)))]


def test_a_part_has_what_it_stands_at_after_all_decisions() -> None:
    (part,) = decided(
        change(1, "a", points=Decimal("1.005")), change(2, "a", factor=Decimal("0.5"))
    )
    assert (20.5, 50.0, 0.0, False) == part[1:5]
    reason = foreign("so")
    assert part.decisions == (
        Decision((DecisionItem(reason, 1.005, None),)),
        Decision((DecisionItem(reason, None, 0.5),)),
    )


def test_what_was_taken_back_is_not_told() -> None:
    assert () == decided(change(1, "a", points=Decimal(1)), change(2, "a", takes_back=1))


def test_a_marking_has_its_items_and_its_comment() -> None:
    chosen = Chosen("memory", "Says so", Decimal("1.5"), {"zh": "说了"})
    marking = Marking((chosen,), "Well.")
    (part,) = decided(change(1, "c", points=Decimal("1.5"), marking=marking), open="6")
    assert ("c", 1.5, 6.0, 0.0, True) == part[:5]
    item = DecisionItem(foreign("Says so", {"zh": "说了"}), 1.5)
    assert (Decision((item,), foreign("Well.")),) == part.decisions


def test_a_factor_leaves_a_part_open() -> None:
    (part,) = decided(change(1, "c", factor=Decimal(2)), open="6")
    assert ("c", 0.0, 0.0, 6.0, False) == part[:5]
    assert NOTHING == part.decisions[0].comment
