"""The baseline against itself: whether this machine can be believed at the moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.messages import ControlRound
from grader.timing.disturbance import split_rounds
from grader.timing.estimate import Clock, Estimate, control_logs, estimate_log, resample

MOST_ERROR = 0.01
"""Largest logarithm of the ratio of a function to itself."""

SAME = 0.004
"""Two compilations of one function may differ by so much, by where their code lies."""

CONTROL_CONFIDENCE = 0.99
"""Confidence of the interval that must come as near to a ratio of one as `SAME`: less than one
control in a hundred fails on a machine where all is well, and then another is made."""

FEWEST_ROUNDS = 6


class Control:
    """What the rounds of a control say. `estimate` is of the logarithm, None with too few rounds.

    The interval has `CONTROL_CONFIDENCE`.
    """

    def __init__(
        self,
        rounds: Sequence[ControlRound],
        pace: float,
        generator: np.random.Generator,
        clock: Clock = "wall",
    ) -> None:
        kept = tuple(rounds) if clock == "processor" else split_rounds(rounds, pace)[0]
        self.rounds = len(kept)
        self.estimate: Estimate | None = None
        if len(kept) >= FEWEST_ROUNDS:
            everything = (np.arange(len(kept)),)
            self.estimate = estimate_log(
                control_logs(kept, clock),
                everything,
                resample(everything, generator),
                CONTROL_CONFIDENCE,
            )

    @property
    def passed(self) -> bool:
        """Say whether the ratio is one, as far as can be told."""
        if self.estimate is None:
            return False
        covers = self.estimate.low <= SAME and self.estimate.high >= -SAME
        return covers and abs(self.estimate.value) < MOST_ERROR
