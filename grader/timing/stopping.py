"""When there are enough rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.messages import TimingRound, TimingRules
from grader.timing.disturbance import split_rounds
from grader.timing.estimate import estimate_share, resample, take_logs

LOOK_EVERY = 4
"""Rounds between two looks at the interval: each look is a chance to stop by luck."""


class Stopping:
    """Decides after each round whether to go on. `generator` draws for its intervals."""

    def __init__(self, rules: TimingRules, generator: np.random.Generator, end: float) -> None:
        self._rules = rules
        self._generator = generator
        self._end = end

    def is_enough(self, rounds: Sequence[TimingRound], now: float, pace: float) -> bool:
        """Say whether the rounds so far are enough.

        `now` is a moment of the clock of `end`, `pace` as for `split_rounds`.
        """
        if len(rounds) >= self._rules.maximum_rounds:
            return True
        if len(rounds) < self._rules.minimum_rounds:
            return False
        if now >= self._end:
            return True
        return len(rounds) % LOOK_EVERY == 0 and self._is_precise(rounds, pace)

    def _is_precise(self, rounds: Sequence[TimingRound], pace: float) -> bool:
        kept, _ = split_rounds(rounds, pace)
        if len(kept) < self._rules.minimum_rounds:
            return False
        logs = take_logs(kept)
        share = estimate_share(logs, resample(logs.strata, self._generator)).map(self._clip)
        return share.width <= self._rules.resolution

    def _clip(self, share: float) -> float:
        return min(max(share, 0.0), self._rules.highest_share)
