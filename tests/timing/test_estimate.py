"""What slices say, how certain that is, and when there are enough."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import msgspec
import numpy as np
import pytest

import grader.timing.estimate as estimate_module
from grader.timing.estimate import (
    FEWEST_SLICES,
    LEAST_SLICES,
    MOST_PAUSES,
    PAUSE,
    POSSIBLE,
    RESAMPLES,
    Stopping,
    TimedSlice,
    Times,
    Verdict,
    counted,
    estimate,
    is_plausible,
)
from grader.timing.slices import FUNCTIONS, SUBMISSION
from grader.timing.stack import PLACES
from tests.timing.machine import FREE, Noise, rules, shared_core, steady


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def verdict(slices: list[TimedSlice], seed: int = 0) -> Verdict:
    return estimate(Times(slices), generator(seed))


class TestEstimate:
    def test_without_noise_it_is_the_ratio(self) -> None:
        found = verdict(steady(4.0, 2.0, 1.0))
        assert math.log(2) == pytest.approx(found.submission.value)
        assert math.log(4) == pytest.approx(found.reference)
        assert (0.5, 0.5, 0.5) == pytest.approx(
            (found.share.value, found.share.low, found.share.high)
        )
        assert 0 == pytest.approx(found.control.value)

    def test_over_shapes_it_is_the_geometric_mean(self) -> None:
        one, other = steady(4.0, 2.0), steady(4.0, 0.5)
        both = [
            TimedSlice(a.place, a.seconds + b.seconds, a.units * 2)
            for a, b in zip(one, other, strict=True)
        ]
        assert math.log(4) == pytest.approx(verdict(both).submission.value)

    def test_a_block_that_was_disturbed_counts_for_nothing(self) -> None:
        slices = steady()
        for each in slices:
            each.seconds[0][:, 3:] = 1e3
        assert math.log(2) == pytest.approx(verdict(slices).submission.value)

    @pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
    def test_noise_that_adds_time_moves_it_little(self, share: float) -> None:
        """Three slices of four are shared with another program, which favours the baseline."""
        found = [verdict(Noise(seed).slices(128, share)).share.value for seed in range(20)]
        assert share == pytest.approx(np.mean(found), abs=0.005)
        assert np.std(found) < 0.01

    def test_the_median_would_be_moved_far(self) -> None:
        slices = Noise(0).slices(64, 1.0)
        logs = np.log(np.concatenate([each.seconds[0] for each in slices], axis=1))
        median = np.median(logs[0] - logs[3])
        assert median < 0.95 * Noise.REFERENCE

    def test_places_of_the_stack_count_alike(self) -> None:
        """The quickest place alone would say what a function can do at its best place."""
        slices = steady()
        for each in slices:
            each.seconds[0][2] *= 1.2 if each.place else 1.0
        expected = math.log(2) - 0.75 * math.log(1.2)
        assert expected == pytest.approx(verdict(slices).submission.value)

    def test_a_reference_that_is_no_faster_divides_by_no_zero(self) -> None:
        assert np.isfinite(verdict(steady(1.0, 2.0, 1.0)).share.value)

    def test_its_rounds_are_counted(self) -> None:
        assert 160 == Times(steady()).rounds
        assert [pytest.approx(2.0)] * 16 == Times(steady()).ratios(0)

    def test_ratios_of_a_shape_are_made_of_its_own_times(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each of eight shapes had those of all made again: half a minute of 10,000 slices."""
        slices = steady(shapes=8)
        for each in slices:
            each.seconds[5][SUBMISSION] /= 4
        times, made = Times(slices), []
        low = estimate_module._low
        monkeypatch.setattr(estimate_module, "_low", lambda logs: made.append(logs) or low(logs))
        assert [pytest.approx(8.0)] * 16 == times.ratios(5)
        assert 2 * 16 == len(made)


class TestInterval:
    def test_it_holds_the_share_of_a_noisy_machine(self) -> None:
        held = 0
        for seed in range(50):
            found = verdict(Noise(seed).slices(128, 0.5), seed).share
            held += found.low <= 0.5 <= found.high
        assert held >= 45

    def test_more_slices_make_it_narrower(self) -> None:
        few, many = (
            np.mean([verdict(Noise(seed).slices(count, 0.5)).share.width for seed in range(10)])
            for count in (16, 128)
        )
        assert many < 0.7 * few

    def test_a_baseline_that_is_off_its_copy_makes_it_wider(self) -> None:
        found = verdict(steady(4.0, 2.0, 1.0, control=4.0 * 1.01))
        error = math.log(1.01)
        assert pytest.approx(-error) == found.control.value
        assert pytest.approx(2 * error) == found.submission.width
        assert pytest.approx(2 * error / math.log(4)) == found.share.width

    @pytest.mark.parametrize("factor", [1.0, 0.1])
    def test_draws_are_of_slices_and_equal_the_plain_way(self, factor: float) -> None:
        """Draws without a slice that has all the quickest times as well."""
        slices = Noise(3).slices(16, 0.5)
        for each in slices:
            each.units[0][:] = FREE
        slices[5].seconds[0][:] *= factor
        drawn = Times(slices).drawn_lows(generator(7))
        picks, plain = generator(7), []
        for place in range(PLACES):
            logs = np.log([each.seconds[0] for each in slices if each.place == place])
            chosen = logs[picks.integers(len(logs), size=(RESAMPLES, len(logs)))]
            flat = np.sort(chosen.swapaxes(1, 2).reshape(RESAMPLES, FUNCTIONS, -1), axis=2)
            plain.append(flat[:, :, : counted(flat.shape[2])].mean(axis=2))
        assert np.allclose(np.mean(plain, axis=0)[:, np.newaxis], drawn)

    def test_they_are_drawn_a_few_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All draws of as many slices as a runner may tell took 8 GB of the referee's memory."""
        times = Times(Noise(3).slices(16, 0.5))
        found, peaks = [], []
        for at_once in (2**30, 7 * 100, 1):
            monkeypatch.setattr(estimate_module, "MOST_DRAWN", at_once)
            tracemalloc.start()
            found.append(times.drawn_lows(generator(7)))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert np.allclose(found[:1], found)
        assert peaks[0] > 3 * peaks[1] > 3 * peaks[2] / 2

    def test_slices_with_few_free_blocks_are_drawn_together(self) -> None:
        """Some draws had a single free block, and one that was interrupted was the interval's end:
        it was ten times as wide."""
        slices = steady(count=64)
        noise = np.random.default_rng(0)
        for each in slices:
            each.seconds[0][:] *= np.exp(0.01 * noise.exponential(size=(FUNCTIONS, 10)))
            each.seconds[0][:, 5] *= noise.choice([1.0, 5.0], size=FUNCTIONS, p=[0.7, 0.3])
            each.units[0][:, :5] = each.units[0][:, 6:] = 2.0
        times = Times(slices)
        assert times.is_free
        assert 64 == times.rounds
        assert estimate(times, generator()).submission.width < 0.02


class TestFree:
    @pytest.mark.parametrize("seed", range(10))
    def test_where_the_core_was_free_now_and_then_only_that_counts(self, seed: int) -> None:
        """Else nothing in the times says that the speed-up is another one."""
        shared, free = shared_core(seed, 64), steady(count=16)
        lone, mixed = Times(shared), Times(shared + free)
        assert mixed.is_free
        assert 16 == mixed.slices
        assert math.log(2) == pytest.approx(estimate(mixed, generator()).submission.value)
        assert not lone.is_free
        assert 64 == lone.slices
        alone = estimate(lone, generator())
        assert abs(alone.control.value) < 1e-9
        assert alone.submission.high < 0.99 * math.log(2)

    def test_a_place_without_a_free_slice_counts_as_well(self) -> None:
        shared = shared_core(1, 16)
        mixed = [free if free.place else each for free, each in zip(steady(), shared, strict=True)]
        assert not Times(mixed).is_free
        assert 16 == Times(mixed).slices

    def test_a_few_free_blocks_of_many_slices_are_enough(self) -> None:
        """Slices that were mostly shared were left out: a neighbour that rests for moments made
        each speed-up 12% too high, where 1 of 50 blocks said what it was."""
        slices = shared_core(3, 96)
        for number, each in enumerate(steady(count=64)):  # a block of each function in turn
            function = number // PLACES % FUNCTIONS
            slices[number].units[0][function, 6] = each.units[0][function, 6]
            slices[number].seconds[0][function, 6] = each.seconds[0][function, 6]
        found = Times(slices)
        assert found.is_free
        assert 16 == found.rounds
        assert math.log(2) == pytest.approx(estimate(found, generator()).submission.value)
        assert not Times(slices[4:]).is_free  # three free blocks of a function at a place

    def test_free_blocks_of_one_slice_say_nothing_of_others(self) -> None:
        """The interval of these alone was 0 wide, or of a draw of a single interrupted one."""
        slices = shared_core(3, 96)
        for number, free in enumerate(steady(count=PLACES)):
            slices[number].units[0][:] = free.units[0]
            slices[number].seconds[0][:] = free.seconds[0]
        assert not Times(slices).is_free

    def test_each_function_has_its_own_free_blocks(self) -> None:
        slices = steady()
        for each in slices:
            each.seconds[0][:, 4] = 1e-3  # quicker than ever, and not alone
            each.units[0][:, 4] = 3.0
            each.units[0][SUBMISSION, 5:7] = 3.0
        found = Times(slices)
        assert math.log(2) == pytest.approx(estimate(found, generator()).submission.value)
        assert 16 * 7 == found.rounds

    def test_the_submission_has_no_say(self) -> None:
        """One whose time is another in each slice had the class wait, and a note that blames the
        machine."""
        uneven = steady(count=16)
        for number, each in enumerate(uneven):
            each.seconds[0][SUBMISSION] *= 1 + number / 16
        assert Times(uneven).is_free


class TestStopping:
    def stop(self, slices: list[TimedSlice], spent: float = 0.1, **changes: float) -> bool:
        return Stopping(rules(**changes), generator()).is_enough(slices, spent)

    def test_it_ends_when_the_interval_is_narrow_enough(self) -> None:
        assert self.stop(steady())
        assert not self.stop(Noise(1, 0.2).slices(16, 0.5))

    def test_a_few_slices_are_taken_in_any_case(self) -> None:
        assert not self.stop(steady(count=FEWEST_SLICES - PLACES))
        assert not self.stop(steady(count=PLACES), spent=100.0)
        assert self.stop(steady(count=LEAST_SLICES), spent=100.0)

    def test_all_places_have_as_many(self) -> None:
        assert not self.stop(steady(count=FEWEST_SLICES + 1), spent=100.0)

    def test_it_ends_with_the_budget(self) -> None:
        assert self.stop(steady(count=20), spent=1.5, resolution=-1.0)
        assert not self.stop(steady(count=20), spent=1.4, resolution=-1.0)

    @pytest.mark.parametrize(("off", "spent", "ends"), [(1.02, 1.6, False), (1.02, 3.1, True)])
    def test_the_budget_is_doubled_where_the_baseline_is_off_its_copy(
        self, off: float, spent: float, ends: bool
    ) -> None:
        assert ends == self.stop(steady(control=4.0 * off, count=20), spent=spent)

    def test_it_waits_while_the_core_is_not_free(self) -> None:
        """The baseline equals its copy, and the interval of the share is as wide as may be."""
        stopping = Stopping(rules(resolution=1.0), generator())
        shared = shared_core(1, 32)
        assert not stopping.is_enough(shared, 0.4)
        assert stopping.waiting.pause() == PAUSE
        assert not stopping.is_enough(shared + steady(count=12), 0.7)
        assert stopping.is_enough(shared + steady(count=16), 0.8)
        assert stopping.waiting.pause() == 0.0

    def test_it_does_not_wait_for_ever(self) -> None:
        stopping = Stopping(rules(resolution=1.0), generator())
        shared = shared_core(1, 64)
        assert not stopping.is_enough(shared, 1.6)
        assert MOST_PAUSES == sum(stopping.waiting.pause() > 0 for _ in range(MOST_PAUSES + 5))
        assert stopping.is_enough(shared, 1.6)
        assert Stopping(rules(), generator()).is_enough(shared, 3.0)

    def test_where_nothing_depends_on_it_an_interval_may_be_wide(self) -> None:
        wide = Noise(1).slices(128, 1.5)
        assert not self.stop(wide, resolution=1e-6)
        full = msgspec.structs.replace(rules(resolution=1e-6), full=(0.9, 2.0))
        assert Stopping(full, generator()).is_enough(wide, 0.1)


class TestPlausible:
    @pytest.mark.parametrize(
        "seconds",
        [
            np.zeros((4, 3)),
            np.full((4, 3), np.nan),
            np.full((4, 3), np.inf),
            np.ones((3, 3)),
            np.ones((4, 0)),
            np.ones(4),
            -np.ones((4, 3)),
            np.full((4, 3), 1e300),
            np.full((4, 3), 5e-324),
        ],
        ids=[
            *("zero", "nan", "infinite", "functions", "no rounds", "flat", "negative"),
            *("longer than may be", "shorter than may be"),
        ],
    )
    def test_what_cannot_be_times_is_none(self, seconds: np.ndarray) -> None:
        assert not is_plausible(seconds)
        assert is_plausible(np.ones((4, 3)))

    @pytest.mark.parametrize("told", list(itertools.permutations([*POSSIBLE, 1.0])))
    def test_whatever_can_be_times_has_a_ratio(self, told: tuple[float, float, float]) -> None:
        chain, wide, call = told
        slices = steady(chain, wide, call)
        found = verdict(slices)
        assert all(math.isfinite(each.map(math.exp).high) for each in (found.submission,))
