"""From interleaved rounds to a speed-up with an interval.

Each round times all three functions within milliseconds of one another, so that what disturbs the
machine disturbs all three alike. The estimate is the median of the rounds' log ratios: one slow
round does not move it. The interval is the percentile bootstrap over rounds (B. Efron, 1979).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from grader.messages import TimingRound

RESAMPLES = 1000
CONFIDENCE = 0.95
MINIMUM_UNDISTURBED = 8
"""With fewer undisturbed rounds nothing is said: a wrong grade is worse than none."""


@dataclass(frozen=True)
class Estimate:
    """A ratio of times with its interval, all as plain factors (2.0 is twice as fast)."""

    ratio: float
    low: float
    high: float


def undisturbed(rounds: tuple[TimingRound, ...]) -> tuple[TimingRound, ...]:
    """Return the rounds in which the scheduler took no processor away."""
    return tuple(each for each in rounds if each.switches == 0)


def estimate_ratio(
    slow: npt.NDArray[np.float64], fast: npt.NDArray[np.float64], generator: np.random.Generator
) -> Estimate:
    """Estimate slow / fast from paired seconds, both of shape (rounds,), all positive."""
    logs = np.log(slow) - np.log(fast)
    picks = generator.integers(0, len(logs), size=(RESAMPLES, len(logs)))
    medians = np.median(logs[picks], axis=1)
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(medians, [tail, 100 - tail])
    return Estimate(*(float(value) for value in np.exp([np.median(logs), low, high])))


def speed_fraction(ratio: float, reference: float, full_at: float) -> float:
    """Share of the speed points: linear in log time, from unscheduled to the reference.

    `full_at` is the share of the reference's log speed-up that already earns everything, so that
    noise does not take points from a schedule as fast as the reference.
    """
    if ratio <= 1.0 or reference <= 1.0:
        return 0.0
    return float(min(1.0, np.log(ratio) / (full_at * np.log(reference))))
