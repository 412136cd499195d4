"""Rubrics: what items give together, which exclude one another, and which cell is an answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from grader.rubric import ManualTable, RubricItem


def item(id: str, points: float | None = None, **fields: Any) -> RubricItem:
    return RubricItem(id=id, text=id.title(), points=points, **fields)


def part(*items: RubricItem, points: float = 10, **fields: Any) -> ManualTable:
    return ManualTable(id="why", title="Why", points=points, item=items, **fields)


RUBRIC = part(
    item("right", 7, group="grade"),
    item("nearly", 4, group="grade"),
    item("numbers", share=0.3),
    item("long", -2),
)


@pytest.mark.parametrize(
    ("chosen", "points"),
    [
        ((), "0"),
        (("right",), "7"),
        (("right", "numbers"), "10"),
        (("nearly", "numbers", "long"), "5"),
        (("long",), "0"),
    ],
)
def test_items_are_added_and_nothing_is_below_zero(chosen: tuple[str, ...], points: str) -> None:
    assert Decimal(points) == RUBRIC.score(chosen)


def test_more_than_the_part_has_is_not_given() -> None:
    assert 10 == part(item("a", 8), item("b", 8)).score(["a", "b"])


def test_a_tenth_ten_times_is_one() -> None:
    items = [item(f"i{n}", 0.1) for n in range(10)]
    assert Decimal(1) == part(*items, points=1).score([each.id for each in items])


def test_a_share_is_rounded_to_a_hundredth() -> None:
    third = part(item("third", share=1 / 3), item("rest", share=2 / 3))
    assert [Decimal("3.33"), Decimal("6.67")] == [third.worth(each) for each in third.item]


@pytest.mark.parametrize("chosen", [("right", "nearly"), ("right", "other")])
def test_two_of_a_group_and_items_that_there_are_not_cannot_be_chosen(
    chosen: tuple[str, ...],
) -> None:
    with pytest.raises(ValueError, match="cannot be chosen"):
        RUBRIC.score(chosen)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((item("a", 9),), "give 9 points at most, `points` says 10"),
        ((item("a", 6, group="g"), item("b", 6, group="g")), "give 6 points at most"),
        ((item("a", 10), item("a", 10)), "same id"),
    ],
)
def test_a_rubric_that_cannot_give_all_points_is_refused(
    items: tuple[RubricItem, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        part(*items)


@pytest.mark.parametrize("fields", [{}, {"points": 1, "share": 0.5}])
def test_an_item_has_points_or_a_share(fields: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="either `points` or a `share`"):
        RubricItem(id="a", text="A", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "source", "is_answer"),
    [
        (("answer-why",), "", True),
        (("c1", "other"), "It is.", False),
        ((), "<!-- answer-why -->\nIt is.", True),
        ((), "x = 1\n  # answer-why\n", True),
        ((), "## answer-why", True),
        ((), "I would answer-why not", False),
    ],
)
def test_an_answer_is_known_by_an_id_a_tag_or_a_line_of_its_own(
    names: tuple[str, ...], source: str, is_answer: bool
) -> None:
    assert is_answer == RUBRIC.is_answer(names, source)


def test_the_course_says_what_cells_of_an_answer_are_called() -> None:
    named = part(item("a", 10), answer=("cell-7",))
    assert named.is_answer(("cell-7",), "") and not named.is_answer(("answer-why",), "")


def test_a_line_of_blanks_takes_no_time() -> None:
    assert not RUBRIC.is_answer((), " " * 1_000_000 + "answer-why" + " " * 1_000_000 + "x")
