"""The estimator: exact without noise, and with noise as certain as it says.

Coverages are of seeded simulations, so they are the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from grader.messages import BlockGroup, TimingRound
from grader.timing.estimate import (
    RESAMPLES,
    Estimate,
    centre,
    control_logs,
    estimate_log,
    estimate_share,
    expanded_tail,
    resample,
    take_logs,
)
from tests.timing.machine import Noise, block, moment, pair, single_round

TRIALS = 400


def share_of(rounds: Sequence[TimingRound], seed: int = 0) -> Estimate:
    logs = take_logs(rounds)
    return estimate_share(logs, resample(logs.strata, np.random.default_rng(seed)))


def speedup_of(rounds: Sequence[TimingRound], seed: int = 0) -> Estimate:
    logs = take_logs(rounds)
    picks = resample(logs.strata, np.random.default_rng(seed))
    return estimate_log(logs.submission, logs.strata, picks).map(math.exp)


def numbers(estimate: Estimate) -> tuple[float, float, float]:
    return (estimate.value, estimate.low, estimate.high)


class TestLogs:
    def test_they_are_of_the_baseline_over_each_function_by_round_and_shape(self) -> None:
        group = BlockGroup(block(8.0), block(4.0), block(1.0))
        other = BlockGroup(block(6.0), block(12.0), block(2.0))
        logs = take_logs([TimingRound((group, other), moment())] * 3)
        assert (3, 2) == logs.submission.shape == logs.reference.shape
        assert [2.0, 0.5] == pytest.approx(np.exp(logs.submission[1]))
        assert [8.0, 3.0] == pytest.approx(np.exp(logs.reference[1]))

    def test_processor_time_leaves_out_what_others_took(self) -> None:
        group = BlockGroup(block(4.0, share=0.5), block(1.0), block(0.5))
        (logs,) = take_logs([TimingRound((group,), moment())], "processor").submission
        assert [2.0] == pytest.approx(np.exp(logs))

    def test_a_thread_that_never_ran_has_a_time_all_the_same(self) -> None:
        group = BlockGroup(block(share=0.0), block(share=0.0), block())
        assert np.isfinite(
            take_logs([TimingRound((group,), moment())], "processor").submission
        ).all()

    def test_those_of_a_control_are_of_one_over_the_other(self) -> None:
        control = [pair(block(3.0, share=0.5), block(2.0))] * 2
        assert [[1.5]] * 2 == np.exp(control_logs(control)).round(12).tolist()
        assert [[0.75]] * 2 == np.exp(control_logs(control, "processor")).round(12).tolist()


class TestCentre:
    def test_it_is_the_median_over_rounds_and_the_geometric_mean_over_shapes(self) -> None:
        ratios = np.array([[2.0, 8.0], [2.0, 8.0], [100.0, 0.01]])
        assert 4.0 == pytest.approx(math.exp(centre(np.log(ratios), [np.arange(3)])))

    def test_each_place_of_the_stack_counts_alike_however_many_rounds_it_has(self) -> None:
        logs = np.log([[2.0]] * 9 + [[8.0]] * 3)
        assert 4.0 == pytest.approx(math.exp(centre(logs, [np.arange(9), np.arange(9, 12)])))

    def test_it_takes_many_draws_at_a_time(self) -> None:
        logs = np.random.default_rng(0).standard_normal((5, 2))
        picks = np.random.default_rng(1).integers(0, 5, (7, 5))
        one_by_one = [centre(logs, [each]) for each in picks]
        assert one_by_one == pytest.approx(centre(logs, [picks]))


class TestResample:
    def test_it_draws_as_many_rounds_of_each_place_as_there_are_with_replacement(self) -> None:
        strata = (np.array([0, 2, 4]), np.array([1, 3, 5, 6]))
        picks = resample(strata, np.random.default_rng(0))
        assert [(RESAMPLES, 3), (RESAMPLES, 4)] == [each.shape for each in picks]
        for stratum, drawn in zip(strata, picks, strict=True):
            assert set(stratum.tolist()) == set(drawn.ravel().tolist())
            assert any(len(set(each)) < len(stratum) for each in drawn.tolist())

    def test_rounds_are_told_apart_by_the_place_of_the_stack(self) -> None:
        rounds = [single_round(place=place) for place in (3, 0, 3, 0, 0)]
        assert [[1, 3, 4], [0, 2]] == [each.tolist() for each in take_logs(rounds).strata]


class TestEstimate:
    def test_an_increasing_function_is_applied_to_value_and_interval(self) -> None:
        assert Estimate(4.0, 1.0, 9.0) == Estimate(2.0, 1.0, 3.0).map(lambda x: x * x)

    def test_the_width_is_that_of_the_interval(self) -> None:
        assert 2.5 == Estimate(1.0, 0.5, 3.0).width

    def test_noiseless_rounds_give_the_exact_speedup(self) -> None:
        rounds = [single_round(6.0 * speed, 2.0 * speed, speed) for speed in np.linspace(1, 2, 20)]
        assert (3.0, 3.0, 3.0) == pytest.approx(numbers(speedup_of(rounds)))

    def test_single_disturbed_blocks_do_not_move_it(self) -> None:
        rounds = [single_round(submission=50.0)] * 5 + [single_round()] * 20
        assert 2.0 == pytest.approx(speedup_of(rounds).value)

    def test_the_same_generator_gives_the_same_interval(self) -> None:
        rounds = Noise(1).rounds(25, 0.5)
        assert speedup_of(rounds, 3) == speedup_of(rounds, 3)

    def test_more_confidence_takes_a_wider_interval(self) -> None:
        logs = take_logs(Noise(1).rounds(25, 0.5))
        picks = resample(logs.strata, np.random.default_rng(0))
        usual, wide = (
            estimate_log(logs.submission, logs.strata, picks, each) for each in (0.95, 0.999)
        )
        assert wide.low < usual.low < usual.high < wide.high

    def test_one_round_has_no_width(self) -> None:
        assert (2.0, 2.0, 2.0) == pytest.approx(numbers(speedup_of([single_round()])))

    def test_few_rounds_take_a_wider_interval_and_many_the_plain_one(self) -> None:
        tails = [expanded_tail(rounds, 0.95) for rounds in (1, 2, 12, 20, 40, 10**6)]
        assert sorted(tails) == tails
        assert 0.0159 == pytest.approx(tails[3], abs=0.0002)  # t(0.975, 19) = 2.0930
        assert 0.025 == pytest.approx(tails[-1], abs=1e-5)

    @pytest.mark.parametrize("rounds", [12, 20, 40])
    def test_so_does_that_of_rounds_which_are_all_of_one_kind(self, rounds: int) -> None:
        noise, hits = Noise(7), 0
        for trial in range(TRIALS):
            logs, everything = control_logs(noise.control(rounds)), [np.arange(rounds)]
            picks = resample(everything, np.random.default_rng(trial))
            estimate = estimate_log(logs, everything, picks)
            hits += estimate.low <= 0.0 <= estimate.high
        assert 0.935 <= hits / TRIALS <= 0.98

    @pytest.mark.parametrize(("rounds", "shapes"), [(12, 1), (20, 1), (32, 1), (80, 1), (32, 3)])
    def test_the_interval_holds_the_speedup_as_often_as_it_says(
        self, rounds: int, shapes: int
    ) -> None:
        noise, hits = Noise(7), 0
        for trial in range(TRIALS):
            estimate = speedup_of(noise.rounds(rounds, 0.5, shapes), trial)
            hits += estimate.low <= 2.0 <= estimate.high
        assert 0.94 <= hits / TRIALS


class TestShare:
    @pytest.mark.parametrize(
        ("submission", "share"), [(4.0, 0.0), (2.0, 0.5), (1.0, 1.0), (0.5, 1.5), (8.0, -0.5)]
    )
    def test_the_baseline_is_0_and_the_reference_1(self, submission: float, share: float) -> None:
        estimate = share_of([single_round(4.0, submission, 1.0)] * 12)
        assert (share, share, share) == pytest.approx(numbers(estimate))

    def test_a_machine_that_becomes_slower_changes_nothing(self) -> None:
        rounds = [single_round(4.0 * speed, 2.0 * speed, speed) for speed in np.geomspace(1, 9, 12)]
        assert (0.5, 0.5, 0.5) == pytest.approx(numbers(share_of(rounds)))

    def test_submission_and_reference_are_drawn_together(self) -> None:
        """Each round's baseline is noise of its own, which both have: it must cancel out."""
        baselines = np.exp(Noise(3).generator.standard_normal(30)) * 100.0
        rounds = [single_round(each, 1.0, 1.0) for each in baselines]
        assert speedup_of(rounds).width > 10
        assert (1.0, 1.0, 1.0) == pytest.approx(numbers(share_of(rounds)))

    def test_shapes_are_drawn_together(self) -> None:
        """What is noise at the one shape and its opposite at the other is none on average."""
        noise = np.exp(Noise(3).generator.standard_normal(31))
        rounds = [
            TimingRound(
                (
                    BlockGroup(block(4.0 * each), block(2.0), block(1.0)),
                    BlockGroup(block(4.0 / each), block(2.0), block(1.0)),
                ),
                moment(),
            )
            for each in noise
        ]
        estimate = share_of(rounds)
        assert 0.5 == pytest.approx(estimate.value, abs=1e-9)
        assert estimate.width < 1e-9

    @pytest.mark.parametrize("submission", [1.0, 4.0, 9.0])
    def test_a_reference_that_is_not_faster_gives_a_number_all_the_same(
        self, submission: float
    ) -> None:
        estimate = share_of([single_round(4.0, submission, 5.0)] * 12)
        assert all(map(math.isfinite, numbers(estimate)))
        assert (submission < 4.0, submission > 4.0) == (estimate.value > 1, estimate.value < 0)

    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    @pytest.mark.parametrize("shapes", [1, 3])
    def test_the_interval_holds_the_share_as_often_as_it_says(
        self, share: float, shapes: int
    ) -> None:
        noise, hits = Noise(11), 0
        for trial in range(TRIALS):
            estimate = share_of(noise.rounds(24, share, shapes), trial)
            hits += estimate.low <= share <= estimate.high
        assert 0.94 <= hits / TRIALS
