"""Pieces of a page within its size."""

from __future__ import annotations

from markupsafe import Markup

from grader.render.html.page import Budget


def of(size: int):
    return lambda: Markup("x" * size)


def test_the_first_form_that_fits_is_taken() -> None:
    budget = Budget(10)
    assert 4 == len(budget.fit(of(11), of(4), of(1)))
    assert 6 == budget.left


def test_what_does_not_fit_at_all_is_nothing() -> None:
    budget = Budget(3)
    assert Markup() == budget.fit(of(5), of(4))
    assert 3 == budget.left


def test_bytes_are_counted_and_not_characters() -> None:
    assert Markup() == Budget(5).fit(lambda: Markup("합합"))


def test_a_form_that_is_not_needed_is_not_made() -> None:
    def fail() -> Markup:
        raise AssertionError

    Budget(5).fit(of(5), fail)


def test_a_part_gives_back_what_it_did_not_use() -> None:
    whole = Budget(100)
    part = whole.part(60)
    part.fit(of(25))
    assert (40, 35) == (whole.left, part.left)
    whole.give_back(part)
    assert (75, 0) == (whole.left, part.left)


def test_a_part_is_never_more_than_there_is() -> None:
    assert 10 == Budget(10).part(60).left
