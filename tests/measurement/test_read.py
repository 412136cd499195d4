"""From a runner's slices to a timing, or to why nothing can be said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from grader.evidence.case import Problem
from grader.measurement.read import Setting, Unsteady, Work, function_work, read_measurement
from grader.messages.timing import MachineLimits
from grader.report import Timing
from grader.timing.estimate import TimedSlice
from tests.timing.machine import Noise, shared_core, steady

BATCH_4 = Work(batch=4, flops=3_000_000, bytes=400_000)
BATCH_8 = Work(batch=8, flops=6_000_000, bytes=800_000)
LIMITS = MachineLimits(flops=1e11, bytes=2e10)
SLICES = steady(30e-6, 10e-6, 5e-6)


def setting(work: tuple[Work, ...] = (BATCH_4,), limits: MachineLimits = LIMITS) -> Setting:
    return Setting("conv2d", "conv2d_bias", "llvm", (0, 1), work, limits)


def read(slices: Sequence[TimedSlice] = SLICES, **changes: Any) -> Timing:
    return read_measurement(slices, setting(**changes), np.random.default_rng(0))


def problem(slices: Sequence[TimedSlice]) -> Problem:
    with pytest.raises(Unsteady) as caught:
        read(slices)
    return caught.value.problem


class TestWork:
    def test_each_item_takes_its_operations_and_each_array_is_moved_once(self) -> None:
        work = function_work([(4, 1, 28, 28), (32, 1, 3, 3)], (4, 32, 26, 26), 18)
        assert Work(4, 4 * 32 * 26 * 26 * 18, 4 * (3136 + 288 + 86528)) == work

    def test_short_integers_are_moved_as_such_and_computed_several_at_a_time(self) -> None:
        work = function_work([(8, 16), (16, 4)], (8, 4), 32, [1, 1, 4])
        assert Work(8, 32 * 32, 128 + 64 + 4 * 32, lanes=4) == work


class TestTiming:
    def test_it_has_speedups_and_the_share_with_their_intervals(self) -> None:
        timing = read()
        assert (3.0, 3.0, 3.0, 6.0) == (
            timing.speedup,
            timing.ci_low,
            timing.ci_high,
            timing.reference_speedup,
        )
        share = round(float(np.log(3) / np.log(6)), 4)
        assert (share, share, share) == (timing.share, timing.share_low, timing.share_high)

    def test_it_says_what_was_measured_where_and_how_well(self) -> None:
        timing = read()
        assert ("conv2d", "conv2d_bias", "llvm") == (
            timing.function,
            timing.workload,
            timing.target,
        )
        assert (2, (0, 1), 160) == (timing.threads, timing.cpus, timing.pairs)
        assert (1.0, 1.0, 1.0, 160) == msgspec.structs.astuple(timing.self_test)
        assert (100.0, 20.0) == (timing.peak_gflops, timing.bandwidth_gbs)

    def test_it_says_where_the_quickest_times_do_not_repeat(self) -> None:
        assert () == read().notes
        (note,) = read(shared_core(1, 64)).notes
        assert note.english.startswith("Another program used the same processor core")

    def test_who_is_slower_by_far_needs_no_quiet_machine(self) -> None:
        """It takes so long that little is measured of the others; it would be graded once more."""
        slow = read(steady(30e-6, 30e-3, 5e-6, control=31e-6))
        assert 0.001 == slow.speedup
        with pytest.raises(Unsteady):
            read(steady(30e-6, 50e-6, 5e-6, control=31e-6))

    def test_times_are_in_microseconds(self) -> None:
        (shape,) = read().shapes
        assert (30.0, 10.0, 5.0) == (shape.baseline_us, shape.submission_us, shape.reference_us)
        assert (3.0, 6.0, (3.0,) * 16) == (shape.speedup, shape.reference_speedup, shape.ratios)

    @pytest.mark.parametrize(
        ("limits", "floor"),
        [(MachineLimits(1e11, 1e11), 30.0), (MachineLimits(1e12, 2e10), 20.0)],
    )
    def test_the_floor_is_the_longer_of_computing_and_moving(
        self, limits: MachineLimits, floor: float
    ) -> None:
        (shape,) = read(limits=limits).shapes
        assert (floor, 3_000_000, 400_000) == (shape.floor_us, shape.flops, shape.bytes)

    def test_a_time_is_never_zero(self) -> None:
        (shape,) = read(steady(3e-5, 1e-300, 1e-300)).shapes
        assert shape.submission_us > 0

    def test_the_speedup_over_shapes_is_their_geometric_mean(self) -> None:
        pairs = zip(steady(30e-6, 15e-6, 5e-6), steady(80e-6, 10e-6, 16e-6), strict=True)
        timing = read(
            [
                TimedSlice(one.place, one.seconds + other.seconds, one.units * 2)
                for one, other in pairs
            ],
            work=(BATCH_4, BATCH_8),
        )
        assert 4.0 == pytest.approx(timing.speedup)
        assert pytest.approx(30**0.5, abs=1e-4) == timing.reference_speedup
        assert [(4, 2.0), (8, 8.0)] == [(each.batch, each.speedup) for each in timing.shapes]

    def test_a_busy_machine_gives_an_interval_and_no_refusal(self) -> None:
        timing = read(Noise(1, 0.1).slices(16, 0.5))
        assert 0.01 < timing.share_high - timing.share_low < 0.5


class TestUnsteady:
    def test_a_function_that_does_not_take_as_long_as_its_copy(self) -> None:
        found = problem(steady(30e-6, 10e-6, 5e-6, control=30.9e-6))
        assert "beside a copy of itself, differed by 2.9%" in found.reason.english
        assert "less busy" in found.hint.english
        assert (True, "busy") == (found.again, found.code)

    @pytest.mark.parametrize("reference", [30e-6, 28e-6, 60e-6])
    def test_a_reference_that_is_hardly_faster(self, reference: float) -> None:
        """Compiled for AVX2, a reference of AVX-512 was as fast as what nobody had scheduled."""
        found = problem(steady(30e-6, 10e-6, reference))
        assert "reference schedule was hardly faster" in found.reason.english
        assert "busy" not in found.reason.english
        assert "does not suit this machine's processor" in found.hint.english
        assert (True, "undecided") == (found.again, found.code)
