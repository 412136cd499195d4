"""The control: a machine is believed where a function takes as long as itself, else it is not."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from grader.messages import ControlRound
from grader.timing.estimate import FEWEST_ROUNDS, MOST_ERROR, SAME, Control
from tests.timing.machine import PACE, Noise, block, pair

GOOD = pair()
BUSY = pair(block(share=0.5))


def control(*rounds: ControlRound, clock: str = "wall", seed: int = 0) -> Control:
    return Control(rounds, PACE, np.random.default_rng(seed), clock)  # type: ignore[arg-type]


class TestControl:
    def test_a_function_that_takes_as_long_as_itself_passes(self) -> None:
        good = control(*[GOOD] * 20)
        assert good.passed
        assert good.estimate is not None
        assert (0.0, 0.0, 0.0) == (good.estimate.value, good.estimate.low, good.estimate.high)

    @pytest.mark.parametrize("sign", [1, -1])
    def test_a_bias_beyond_the_noise_does_not_pass(self, sign: int) -> None:
        assert not control(*Noise(1, 0.002).control(20, sign * 0.006)).passed

    @pytest.mark.parametrize("sign", [1, -1])
    def test_a_large_error_does_not_pass_though_the_interval_holds_1(self, sign: int) -> None:
        off, on = (pair(block(np.exp(log))) for log in (sign * 0.03, 0.0))
        found = control(*[off] * 6, *[on] * 5)
        assert found.estimate is not None
        assert found.estimate.low <= 0.0 <= found.estimate.high
        assert abs(found.estimate.value) > MOST_ERROR
        assert not found.passed

    def test_disturbed_rounds_do_not_count(self) -> None:
        slow = msgspec.structs.replace(BUSY, one=block(9.0, share=0.5))
        found = control(*[GOOD] * FEWEST_ROUNDS, *[slow] * 14)
        assert (FEWEST_ROUNDS, True) == (found.rounds, found.passed)

    def test_too_few_rounds_say_nothing(self) -> None:
        found = control(*[GOOD] * (FEWEST_ROUNDS - 1), *[BUSY] * 15)
        assert (None, False) == (found.estimate, found.passed)

    def test_no_round_says_nothing(self) -> None:
        assert (0, None, False) == (control().rounds, control().estimate, control().passed)

    def test_by_processor_time_all_rounds_count(self) -> None:
        interrupted = msgspec.structs.replace(BUSY, one=block(2.0, share=0.5))
        found = control(*[interrupted] * 20, clock="processor")
        assert (20, True) == (found.rounds, found.passed)

    def test_fewer_than_one_in_a_hundred_is_a_false_alarm(self) -> None:
        noise, trials = Noise(17, 0.003), 1000
        same, apart = (
            sum(not control(*noise.control(20, bias), seed=trial).passed for trial in range(trials))
            for bias in (0.0, SAME)
        )
        assert same <= apart
        assert 0 < apart <= 0.01 * trials
