"""When there are enough rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.messages import TimingRound, TimingRules
from grader.timing.disturbance import split_rounds
from grader.timing.estimate import estimate_share, resample, take_logs

HIGHEST_SHARE = 2.0
"""Beyond it nothing is worth more rounds: the square of the reference's speed-up."""

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
        worth = estimate_share(logs, resample(logs.strata, self._generator)).map(self._worth)
        return worth.width <= self._rules.resolution

    def _worth(self, share: float) -> float:
        """Return a share without what nothing depends on: 0.96 and 1.03 may be worth the same."""
        lowest, highest = self._rules.full
        counted = min(max(share, 0.0), HIGHEST_SHARE)
        return min(counted, lowest) + max(0.0, counted - highest)
