"""From a runner's rounds to a timing, or to why nothing can be said."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from grader.measurement.read import (
    MINIMUM_ROUNDS,
    Setting,
    Unsteady,
    Work,
    function_work,
    read_measurement,
)
from grader.messages import (
    Block,
    BlockGroup,
    MachineLimits,
    ShapeResult,
    TimingResult,
    TimingRound,
    pack_array,
)
from grader.report import Timing
from tests.timing.machine import NO_SLOTS, PACE, Noise, block, in_turn, moment, pair, single_round

BATCH_4 = Work(batch=4, flops=3_000_000, bytes=400_000)
BATCH_8 = Work(batch=8, flops=6_000_000, bytes=800_000)
LIMITS = MachineLimits(flops=1e11, bytes=2e10)
RESULT = ShapeResult(250, pack_array(np.zeros((0, 4), np.float32)), (), NO_SLOTS)
GOOD = pair()
QUIET = in_turn([single_round(30e-6, 10e-6, 5e-6)] * 20)
BUSY = in_turn([single_round(30e-6, 10e-6, 5e-6, steal=1)] * 20)


def answer(rounds: Any = QUIET, control: Any = (GOOD,) * 20, **changes: Any) -> TimingResult:
    result = TimingResult("conv2d", "llvm", (RESULT,), tuple(control), in_turn(rounds))
    return msgspec.structs.replace(result, **changes)


def setting(
    threads: int = 2,
    work: tuple[Work, ...] = (BATCH_4,),
    widest: float = 0.1,
    limits: MachineLimits = LIMITS,
) -> Setting:
    return Setting("conv2d", tuple(range(threads)), work, widest, PACE, limits)


def read(given: TimingResult | None = None, **changes: Any) -> Timing:
    return read_measurement(given or answer(), setting(**changes), np.random.default_rng(0))


def reason(given: TimingResult, **changes: Any) -> str:
    with pytest.raises(Unsteady) as caught:
        read(given, **changes)
    return str(caught.value)


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
        assert ("conv2d", "conv2d", "llvm") == (timing.function, timing.workload, timing.target)
        assert (2, (0, 1), "wall") == (timing.threads, timing.cpus, timing.clock)
        assert (1.0, 1.0, 1.0, 20) == msgspec.structs.astuple(timing.self_test)
        assert (100.0, 20.0) == (timing.peak_gflops, timing.bandwidth_gbs)

    def test_times_are_medians_in_microseconds(self) -> None:
        (shape,) = read().shapes
        assert (30.0, 10.0, 5.0) == (shape.baseline_us, shape.submission_us, shape.reference_us)
        assert (3.0, 6.0, (3.0,) * 20) == (shape.speedup, shape.reference_speedup, shape.ratios)

    @pytest.mark.parametrize(
        ("limits", "floor"),
        [(MachineLimits(1e11, 1e11), 30.0), (MachineLimits(1e12, 2e10), 20.0)],
    )
    def test_the_floor_is_the_longer_of_computing_and_moving(
        self, limits: MachineLimits, floor: float
    ) -> None:
        (shape,) = read(limits=limits).shapes
        assert (floor, 3_000_000, 400_000) == (shape.floor_us, shape.flops, shape.bytes)

    def test_disturbed_rounds_are_counted_and_nothing_else_of_them(self) -> None:
        wild = [single_round(1.0, 1e-9, 1.0, steal=1)] * 30
        timing = read(answer([*QUIET, *wild]))
        assert (3.0, 20, 30) == (timing.speedup, timing.pairs, timing.rejected)

    def test_a_time_is_never_zero(self) -> None:
        (shape,) = read(answer([single_round(3e-5, 1e-300, 1e-300)] * 20)).shapes
        assert shape.submission_us > 0


class TestShapes:
    ROUND = TimingRound(
        (
            BlockGroup(block(30e-6), block(15e-6), block(5e-6)),
            BlockGroup(block(80e-6), block(10e-6), block(16e-6)),
        ),
        moment(),
    )

    def test_the_speedup_is_their_geometric_mean(self) -> None:
        given = answer([self.ROUND] * 20, shapes=(RESULT, RESULT))
        timing = read(given, work=(BATCH_4, BATCH_8))
        assert 4.0 == pytest.approx(timing.speedup)
        assert pytest.approx(30**0.5, abs=1e-4) == timing.reference_speedup
        assert [(4, 2.0), (8, 8.0)] == [(each.batch, each.speedup) for each in timing.shapes]


class TestUnsteady:
    def test_too_few_undisturbed_rounds(self) -> None:
        few = answer([*QUIET[: MINIMUM_ROUNDS - 1], *BUSY])
        assert "only 11 of 31 rounds were undisturbed" == reason(few)
        assert MINIMUM_ROUNDS == read(answer([*QUIET[:MINIMUM_ROUNDS], *BUSY])).pairs

    @pytest.mark.parametrize("left", [0, 1, 2])
    def test_too_few_at_one_place_of_the_stack(self, left: int) -> None:
        kept = [each for each in QUIET if each.moment.place != 3]
        rounds = (*kept, *[each for each in QUIET if each.moment.place == 3][:left])
        given = msgspec.structs.replace(answer(), rounds=rounds)
        assert "at one place of the stack" in reason(given)

    def test_rounds_held_back_by_a_neighbour(self) -> None:
        held = [single_round(30e-6, 10e-6, 5e-6, probe=1.3 * PACE)] * 20
        assert "only 0 of 20 rounds were undisturbed" == reason(answer(held))

    def test_no_round_at_all(self) -> None:
        assert "only 0 of 0 rounds were undisturbed" == reason(answer([]))
        assert "only 0 of 0 rounds were undisturbed" == reason(answer([]), threads=1)

    def test_a_function_that_does_not_take_as_long_as_itself(self) -> None:
        off = pair(block(1.02))
        assert "measured beside itself" in reason(answer(control=[off] * 20))

    def test_a_self_test_of_too_few_rounds(self) -> None:
        busy = pair(steal=1)
        control = [*[GOOD] * 3, *[busy] * 17]
        assert "only 3 of 20 rounds of the self-test" in reason(answer(control=control))
        assert "only 0 of 0" in reason(answer(control=[]))

    @pytest.mark.parametrize("reference", [30e-6, 28e-6, 60e-6])
    def test_a_reference_that_is_hardly_faster(self, reference: float) -> None:
        given = answer([single_round(30e-6, 10e-6, reference)] * 20)
        assert "reference schedule was hardly faster" in reason(given)

    def test_an_interval_that_is_too_wide(self) -> None:
        noisy = answer(Noise(1, 0.1).rounds(20, 0.5))
        assert "would not become narrow" in reason(noisy, widest=0.02)
        assert read(noisy, widest=0.5).share_high - read(noisy, widest=0.5).share_low > 0.02

    @pytest.mark.parametrize("share", [-2.0, 3.0])
    def test_an_interval_where_no_points_depend_on_it_may_be_wide(self, share: float) -> None:
        timing = read(answer(Noise(1, 0.1).rounds(20, share)), widest=0.02)
        assert timing.share_high - timing.share_low > 0.02


class TestOneThread:
    """Where a single thread is interrupted, its processor time is nearly right."""

    WAITED = BlockGroup(block(90e-6, share=1 / 3), block(20e-6, share=0.5), block(5e-6))

    def test_its_processor_time_counts(self) -> None:
        timing = read(answer([TimingRound((self.WAITED,), moment(steal=2))] * 20), threads=1)
        assert ("processor", 20, 0, 3.0) == (
            timing.clock,
            timing.pairs,
            timing.rejected,
            timing.speedup,
        )

    def test_times_are_of_the_same_clock_as_ratios(self) -> None:
        (shape,) = read(
            answer([TimingRound((self.WAITED,), moment(steal=2))] * 20), threads=1
        ).shapes
        assert (30.0, 10.0, 5.0) == (shape.baseline_us, shape.submission_us, shape.reference_us)

    def test_where_enough_is_undisturbed_it_does_not(self) -> None:
        waited = TimingRound((self.WAITED,), moment(steal=2))
        assert "wall" == read(answer([waited, *QUIET[:12]]), threads=1).clock

    def test_of_several_threads_it_says_nothing(self) -> None:
        given = answer([TimingRound((self.WAITED,), moment(steal=2))] * 20)
        assert "only 0 of 20 rounds were undisturbed" == reason(given)


def test_a_block_without_any_processor_time_is_no_crash() -> None:
    group = BlockGroup(Block(30e-6, 1.0, 1), Block(10e-6, 0.0, 1), Block(5e-6, 1.0, 1))
    timing = read(answer([TimingRound((group,), moment())] * 20), threads=1)
    assert timing.shapes[0].submission_us > 0
