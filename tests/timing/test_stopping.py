"""When there are enough rounds, and that stopping early does not make the interval a lie."""

from __future__ import annotations

import numpy as np
import pytest

from grader.messages import TimingRound, TimingRules
from grader.timing.estimate import LOOK_EVERY, Stopping, estimate_share, resample, take_logs
from tests.timing.machine import PACE, Noise, block, in_turn, moment, rules, single_round

END = 100.0
BEFORE_END = 0.0

SAME = in_turn([single_round()] * 400)
"""Rounds without any noise."""

TRIALS = 120


def stopping(**changes: float) -> Stopping:
    return Stopping(rules(**changes), np.random.default_rng(0), END)


def rounds_taken(rounds: tuple[TimingRound, ...], given: TimingRules, seed: int) -> int:
    """Return how many of the rounds are taken until it is enough."""
    decide = Stopping(given, np.random.default_rng(seed), END)
    return next(
        count
        for count in range(len(rounds) + 1)
        if decide.is_enough(rounds[:count], BEFORE_END, PACE)
    )


class TestIsEnough:
    def test_certain_rounds_end_at_the_minimum(self) -> None:
        decide = stopping()
        assert not any(decide.is_enough(SAME[:count], BEFORE_END, PACE) for count in range(20))
        assert decide.is_enough(SAME[:20], BEFORE_END, PACE)

    def test_uncertain_rounds_go_on_up_to_the_maximum(self) -> None:
        decide, rounds = stopping(), Noise(1, spread=0.5).rounds(200, 0.5)
        assert not any(decide.is_enough(rounds[:count], BEFORE_END, PACE) for count in range(200))
        assert decide.is_enough(rounds, BEFORE_END, PACE)

    def test_the_end_of_the_time_ends_them_but_not_before_the_minimum(self) -> None:
        decide, rounds = stopping(), Noise(1, spread=0.5).rounds(21, 0.5)
        assert not decide.is_enough(rounds[:19], END, PACE)
        assert decide.is_enough(rounds[:20], END, PACE)
        assert decide.is_enough(rounds, END, PACE)

    def test_the_interval_is_looked_at_every_few_rounds_only(self) -> None:
        decide = stopping()
        looks = [
            count for count in range(20, 60) if decide.is_enough(SAME[:count], BEFORE_END, PACE)
        ]
        assert list(range(20, 60, LOOK_EVERY)) == looks

    def test_less_noise_takes_fewer_rounds(self) -> None:
        given = rules(resolution=0.006)
        quiet, loud = (
            rounds_taken(Noise(2, spread).rounds(200, 0.5), given, 0) for spread in (0.004, 0.01)
        )
        assert 20 <= quiet < loud < 200

    def test_disturbed_rounds_make_nothing_certain(self) -> None:
        disturbed = [single_round(steal=1)] * 100
        assert not stopping().is_enough(disturbed, BEFORE_END, PACE)
        assert not stopping().is_enough([*disturbed, *SAME[:16]], BEFORE_END, PACE)
        assert stopping().is_enough([*disturbed, *SAME[:20]], BEFORE_END, PACE)

    @pytest.mark.parametrize(
        ("share", "full"),
        [(-1.0, (0.95, 2.0)), (3.0, (0.95, 1.05)), (1.5, (0.95, 2.0)), (1.0, (0.8, 1.2))],
    )
    def test_noise_where_nothing_is_earned_takes_no_rounds(
        self, share: float, full: tuple[float, float]
    ) -> None:
        noisy = Noise(4, spread=0.03).rounds(200, share)
        assert 20 == rounds_taken(noisy, rules(full=full), 0)

    @pytest.mark.parametrize("share", [0.7, 1.3])
    def test_outside_of_what_is_worth_full_points_it_takes_rounds(self, share: float) -> None:
        noisy = Noise(4, spread=0.03).rounds(200, share)
        assert rounds_taken(noisy, rules(full=(0.8, 1.2)), 0) > 40

    def test_only_the_shares_between_are_worth_rounds(self) -> None:
        noisy = Noise(4, spread=0.03).rounds(200, 0.5)
        assert rounds_taken(noisy, rules(), 0) > 40

    def test_a_reference_that_is_not_faster_has_an_end(self) -> None:
        assert stopping().is_enough([single_round(4.0, 3.0, 5.0)] * 20, BEFORE_END, PACE)

    def test_a_function_that_always_sleeps_ends_at_the_maximum(self) -> None:
        group = single_round().groups[0]
        asleep = TimingRound((type(group)(block(), block(share=0.1), block()),), moment())
        decide = stopping()
        assert not decide.is_enough([asleep] * 196, BEFORE_END, PACE)
        assert decide.is_enough([asleep] * 200, BEFORE_END, PACE)


@pytest.mark.parametrize(
    ("share", "shapes", "spread"),
    [(0.0, 1, 0.015), (0.5, 1, 0.01), (1.0, 1, 0.01), (0.5, 3, 0.02)],
)
def test_the_interval_holds_the_share_also_where_luck_may_have_ended_the_rounds(
    share: float, shapes: int, spread: float
) -> None:
    """1.0 is a submission that is the reference, 0.0 one that is the baseline."""
    noise, given, hits, counts = Noise(13, spread), rules(resolution=0.01), 0, []
    for trial in range(TRIALS):
        rounds = noise.rounds(200, share, shapes)
        counts.append(rounds_taken(rounds, given, trial))
        taken = rounds[: counts[-1]]
        logs = take_logs(taken)
        picks = resample(logs.strata, np.random.default_rng(1000 + trial))
        estimate = estimate_share(logs, picks)
        hits += estimate.low <= share <= estimate.high
    assert hits >= 0.93 * TRIALS
    assert len(set(counts)) > 3, "most trials were ended by their interval"
