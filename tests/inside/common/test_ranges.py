"""Intervals: whatever values an expression has, they lie in its interval."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grader.inside.common.checks import DIVISIONS, OPERATIONS, Interval, of_integers


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXACT: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Min": min,
    "Max": max,
    "Div": truncated,
    "Mod": lambda a, b: a - b * truncated(a, b),
}

small = st.integers(-9, 9)
intervals = st.builds(lambda a, b: Interval(min(a, b), max(a, b)), small, small)


def values(of: Interval) -> range:
    return range(of.low, of.high + 1)


@pytest.mark.parametrize("kind", OPERATIONS)
@given(left=intervals, right=intervals)
def test_every_result_of_every_pair_is_held(kind: str, left: Interval, right: Interval) -> None:
    pairs = [
        (a, b)
        for a, b in itertools.product(values(left), values(right))
        if b != 0 or kind not in DIVISIONS
    ]
    assume(pairs)
    result = OPERATIONS[kind](left, right)
    assert all(result.low <= EXACT[kind](a, b) <= result.high for a, b in pairs)


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Min", "Max"])
@given(left=intervals, right=intervals)
def test_both_ends_are_reached_where_nothing_is_divided(
    kind: str, left: Interval, right: Interval
) -> None:
    found = {EXACT[kind](a, b) for a in values(left) for b in values(right)}
    assert Interval(min(found), max(found)) == OPERATIONS[kind](left, right)


def test_types_hold_what_their_bits_can() -> None:
    assert Interval(-128, 127) == of_integers(8, signed=True)
    assert Interval(0, 2**32 - 1) == of_integers(32, signed=False)
