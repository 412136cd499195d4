"""Calls with the stack at one place or another: nothing else is different."""

from __future__ import annotations

import pytest

from grader.timing.slices import PLACES, call_at


@pytest.mark.parametrize("place", range(PLACES))
def test_it_returns_what_the_function_returns(place: int) -> None:
    result = object()
    assert result is call_at(place, lambda: result)
    assert call_at(place, lambda: None) is None


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_the_function_raises_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        call_at(1, fail)
    assert error is caught.value


def test_calls_may_be_nested() -> None:
    assert 3 == call_at(1, lambda: call_at(2, lambda: 3))
