"""Calls with the stack at one place or another: nothing else is different."""

from __future__ import annotations

import itertools
import platform

import pytest

from grader.timing.stack import PLACES, WORDS, call_at, stack_address


@pytest.mark.parametrize("placement", range(len(WORDS)))
@pytest.mark.parametrize("place", range(PLACES))
def test_it_returns_what_the_function_returns(place: int, placement: int) -> None:
    result = object()
    assert result is call_at(place, placement, lambda: result)
    assert call_at(place, placement, lambda: None) is None


def test_the_stack_is_moved_to_all_places_of_a_line() -> None:
    ends = {call_at(place, 0, stack_address) % 64 for place in range(PLACES)}
    assert PLACES == len(ends)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="structures are passed by address")
@pytest.mark.parametrize("place", range(PLACES))
def test_with_arrays_it_is_moved_to_other_parts_of_a_page(place: int) -> None:
    """The place within a line stays, and no two parts are within an eighth of a page."""
    addresses = [call_at(place, each, stack_address) for each in range(len(WORDS))]
    assert 1 == len({each % 64 for each in addresses})
    lines = sorted(each // 64 % 64 for each in addresses)
    gaps = [(after - before) % 64 for before, after in itertools.pairwise([*lines, lines[0]])]
    assert min(gaps) >= 8


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_the_function_raises_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        call_at(1, 0, fail)
    assert error is caught.value


def test_calls_may_be_nested() -> None:
    assert 3 == call_at(1, 3, lambda: call_at(2, 2, lambda: 3))
