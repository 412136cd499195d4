"""The estimator of a speed-up."""

from __future__ import annotations

import numpy as np
import pytest
from grader.referee.estimate import estimate_ratio, speed_fraction, undisturbed

from grader.messages import TimingRound


def rounds(*switches: int) -> tuple[TimingRound, ...]:
    return tuple(TimingRound(0, 1.0, 1.0, 1.0, each) for each in switches)


class TestEstimateRatio:
    def test_the_ratio_of_noiseless_rounds_is_exact(self):
        fast = np.linspace(1, 2, 20)
        estimate = estimate_ratio(3 * fast, fast, np.random.default_rng(0))
        assert (3.0, 3.0, 3.0) == pytest.approx((estimate.ratio, estimate.low, estimate.high))

    def test_disturbances_of_single_rounds_do_not_move_it(self):
        fast = np.ones(25)
        slow = 2 * fast
        slow[:5] = 50
        estimate = estimate_ratio(slow, fast, np.random.default_rng(0))
        assert 2.0 == pytest.approx(estimate.ratio)

    def test_the_interval_holds_the_true_ratio_about_as_often_as_it_says(self):
        generator = np.random.default_rng(7)
        hits = 0
        for _ in range(200):
            noise = np.exp(0.05 * generator.standard_normal((2, 25)))
            estimate = estimate_ratio(1.7 * noise[0], noise[1], generator)
            hits += estimate.low <= 1.7 <= estimate.high
        assert hits >= 0.90 * 200

    def test_the_same_generator_gives_the_same_interval(self):
        noise = np.exp(0.05 * np.random.default_rng(1).standard_normal((2, 25)))
        first = estimate_ratio(*noise, np.random.default_rng(3))
        assert first == estimate_ratio(*noise, np.random.default_rng(3))


class TestUndisturbed:
    def test_rounds_with_a_context_switch_are_dropped(self):
        assert 10 == len(undisturbed(rounds(*[0] * 10, 1, 2, 3)))


class TestSpeedFraction:
    def test_a_slowdown_is_worth_nothing(self):
        assert 0.0 == speed_fraction(0.5, reference=4.0, full_at=0.85)

    def test_the_reference_is_worth_everything(self):
        assert 1.0 == speed_fraction(4.0, reference=4.0, full_at=0.85)

    def test_half_the_log_speedup_is_worth_half(self):
        assert 0.5 == pytest.approx(speed_fraction(2.0, reference=4.0, full_at=1.0))

    def test_nothing_is_paid_where_the_reference_itself_is_not_faster(self):
        assert 0.0 == speed_fraction(1.2, reference=0.9, full_at=0.85)
