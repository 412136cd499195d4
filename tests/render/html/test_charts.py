"""The drawings of a measured schedule.

Axes: round numbers at their places.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grader.render.html.charts import WIDTHS, Linear, Logarithmic, around, distributions, rooflines
from grader.report import Timing
from tests.sample_reports import SHAPE, TIMING

ROUNDS = tuple(3.0 + 0.001 * number for number in range(200))


def timing(**changes: object) -> Timing:
    return replace(TIMING, shapes=(replace(SHAPE, **changes),))


class TestDistribution:
    def test_every_round_is_a_dot(self) -> None:
        for chart in distributions(timing(ratios=ROUNDS)):
            assert 200 == chart.strips[0].dots.count("M")

    def test_it_is_drawn_for_wide_pages_and_for_phones(self) -> None:
        assert WIDTHS == tuple(chart.width for chart in distributions(TIMING))

    def test_the_interval_and_the_reference_are_where_the_axis_has_them(self) -> None:
        (chart, _) = distributions(timing(ratios=ROUNDS, reference_speedup=3.5))
        (strip,) = chart.strips
        assert chart.band[0] < chart.estimate < chart.band[0] + chart.band[1]
        assert strip.median < strip.reference < chart.width

    def test_one_disturbed_round_does_not_squeeze_the_others(self) -> None:
        (calm, _) = distributions(timing(ratios=ROUNDS, reference_speedup=3.3))
        (disturbed, _) = distributions(timing(ratios=(*ROUNDS[1:], 9.0), reference_speedup=3.3))
        assert 0 == calm.outside
        assert 1 == disturbed.outside
        assert abs(calm.estimate - disturbed.estimate) < 10

    def test_many_rounds_at_one_place_stay_within_the_drawing(self) -> None:
        (chart, _) = distributions(timing(ratios=(3.1,) * 2000))
        heights = [
            float(dot.split()[1].removesuffix("h0")) for dot in chart.strips[0].dots.split("M")[1:]
        ]
        assert chart.strips[0].top - 4 <= min(heights)
        assert max(heights) <= chart.strips[0].base

    def test_batches_are_below_each_other(self) -> None:
        both = replace(TIMING, shapes=(SHAPE, replace(SHAPE, batch=16)))
        (chart, _) = distributions(both)
        assert ["Batch of 4", "Batch of 16"] == [
            each.title.partition(":")[0] for each in chart.strips
        ]
        assert chart.strips[0].base < chart.strips[1].top

    def test_it_says_what_it_shows(self) -> None:
        (chart, _) = distributions(timing(ratios=ROUNDS))
        assert "200 portions" in chart.description
        assert "3.04 to 3.19" in chart.description

    @pytest.mark.parametrize(
        "changes", [{"ratios": ()}, {"speedup": 0.0}, {"reference_speedup": -1.0}]
    )
    def test_nothing_is_drawn_of_numbers_that_make_no_sense(self, changes) -> None:
        assert () == distributions(timing(**changes))


class TestRoofline:
    def test_every_function_has_a_mark_below_the_roof(self) -> None:
        (chart, _) = rooflines(TIMING)
        assert ["library", "reference", "unscheduled", "yours"] == sorted(
            m.kind for m in chart.marks
        )
        roof = min(float(y) for y in chart.roof.replace("L", " ").split("H")[0].split()[1::2])
        assert all(mark.y >= roof for mark in chart.marks)

    def test_faster_is_higher(self) -> None:
        heights = {mark.kind: mark.y for mark in rooflines(TIMING)[0].marks}
        assert heights["reference"] < heights["yours"] < heights["library"] < heights["unscheduled"]

    def test_labels_are_apart(self) -> None:
        shape = replace(SHAPE, submission_us=199.0, library_us=199.5)
        (chart, _) = rooflines(replace(TIMING, shapes=(shape,)))
        heights = sorted(mark.label_y for mark in chart.marks)
        assert all(below - above >= 15 for above, below in pairwise(heights))

    def test_only_one_batch_has_labels(self) -> None:
        both = replace(TIMING, shapes=(SHAPE, replace(SHAPE, batch=16, flops=10 * SHAPE.flops)))
        labelled = [mark.title.partition(":")[0] for mark in rooflines(both)[0].marks if mark.label]
        assert ["Batch of 16"] * 4 == labelled

    def test_without_pytorch_there_are_three(self) -> None:
        assert 3 == len(rooflines(timing(library_us=None))[0].marks)

    @pytest.mark.parametrize(
        "changes", [{"flops": 0}, {"bytes": 0}, {"submission_us": 0.0}, {"library_us": -1.0}]
    )
    def test_nothing_is_drawn_of_numbers_that_make_no_sense(self, changes) -> None:
        assert () == rooflines(timing(**changes))

    @pytest.mark.parametrize("field", ["peak_gflops", "bandwidth_gbs"])
    def test_nothing_is_drawn_without_limits(self, field: str) -> None:
        assert () == rooflines(replace(TIMING, **{field: 0.0}))


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
