"""Axes: round numbers at their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.render.html.charts import Linear, Logarithmic, around

POSITIVE = st.floats(1e-9, 1e12)


class TestLinear:
    @pytest.mark.parametrize(
        ("low", "high", "texts"),
        [
            (0.93, 1.31, ["1.0", "1.1", "1.2", "1.3"]),
            (3.21, 3.29, ["3.22", "3.24", "3.26", "3.28"]),
            (0, 5200, ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]),
            (-1, 1, ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ],
    )
    def test_numbers_are_round(self, low: float, high: float, texts: list[str]) -> None:
        assert texts == [tick.text for tick in Linear(low, high, 0, 100).ticks(6)]

    def test_ends_are_at_the_ends(self) -> None:
        axis = Linear(1, 3, 10, 110)
        assert [10, 60, 110] == [axis.at(value) for value in (1, 2, 3)]

    def test_what_is_beyond_is_at_the_end(self) -> None:
        assert [10, 110] == [Linear(1, 3, 10, 110).at(value) for value in (-5, 99)]

    @given(POSITIVE, POSITIVE, st.integers(2, 10))
    def test_there_are_never_many_numbers(self, one: float, other: float, most: int) -> None:
        low, high = around([one, other], 0.05)
        assert len(Linear(low, high, 0, 100).ticks(most)) <= most + 1


class TestLogarithmic:
    def test_equal_ratios_are_equal_distances(self) -> None:
        axis = Logarithmic(1, 100, 0, 200)
        assert [0, 100, 200] == [axis.at(value) for value in (1, 10, 100)]

    @pytest.mark.parametrize(
        ("low", "high", "texts"),
        [
            (0.4, 30, ["0.5", "1", "2", "5", "10", "20"]),
            (0.05, 900, ["0.1", "1", "10", "100"]),
            (0.5, 300, ["1", "3", "10", "30", "100", "300"]),
        ],
    )
    def test_numbers_are_round(self, low: float, high: float, texts: list[str]) -> None:
        assert texts == [tick.text for tick in Logarithmic(low, high, 0, 100).ticks(6)]

    @given(POSITIVE, st.floats(1.5, 1e9))
    def test_there_are_never_many_numbers(self, low: float, factor: float) -> None:
        assert len(Logarithmic(low, low * factor, 0, 100).ticks(6)) <= 6


class TestAround:
    def test_it_has_room_on_both_sides(self) -> None:
        assert (0.5, 5.5) == around([1, 5, 3], 0.125)

    @pytest.mark.parametrize("value", [0, 7, -7])
    def test_a_single_value_has_room_too(self, value: float) -> None:
        low, high = around([value], 0.1)
        assert low < value < high
