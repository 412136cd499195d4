"""Suites that are graded together: one grades for all, and no other waits for it."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.endtoend.together import in_turn


class Item(pytest.Function):
    """A test of a module, without all else that pytest knows of one."""

    module = None
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return str(self.module)


def a_test(module: ModuleType, *marks: str) -> Item:
    item = object.__new__(Item)
    item.module = module
    item.keywords = dict.fromkeys(marks, True)
    return item


def a_module(name: str, *, has_submissions: bool = False) -> ModuleType:
    module = ModuleType(name)
    if has_submissions:
        module.untimed_submissions = lambda _: {}
    return module


def test_one_suite_begins_and_the_others_come_when_everything_is_graded() -> None:
    quick, batch = a_module("quick"), a_module("batch")
    first, second = (a_module(name, has_submissions=True) for name in ("first", "second"))
    items = [
        a_test(quick),
        a_test(batch, "graded"),
        a_test(first, "graded"),
        a_test(second, "graded"),
        a_test(second),
        a_test(quick),
    ]
    names = [item.module.__name__ for item in in_turn(items)]
    assert ["first", "batch", "quick", "quick", "second", "second"] == names


def test_a_suite_of_which_nothing_is_graded_waits_for_nobody() -> None:
    """In the leg of timed tests, for example."""
    batch, suite = a_module("batch"), a_module("suite", has_submissions=True)
    items = [a_test(suite, "timed"), a_test(batch, "graded")]
    assert [batch, suite] == [item.module for item in in_turn(items)]
