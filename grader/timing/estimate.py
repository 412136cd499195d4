"""From rounds to a speed-up with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from grader.messages import Block, ControlRound, TimingRound

FloatArray = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

RESAMPLES = 1000
CONFIDENCE = 0.95

Clock = Literal["wall", "processor"]
"""What seconds are taken from: the wall clock, or the calling thread's processor time, which is
right for one thread only."""


class Estimate(msgspec.Struct, frozen=True):
    """A value and the interval that holds it with `CONFIDENCE`."""

    value: float
    low: float
    high: float

    def map(self, function: Callable[[float], float]) -> Estimate:
        """Return the estimate of an increasing function of the value."""
        return Estimate(function(self.value), function(self.low), function(self.high))

    @property
    def width(self) -> float:
        """Return the width of the interval."""
        return self.high - self.low


class Logs(msgspec.Struct, frozen=True):
    """Logarithms of the speed-up over the baseline, by round and shape: shape (rounds, shapes).

    `strata` are the rounds by the place of the stack: each has the numbers of its rounds.
    """

    submission: FloatArray
    reference: FloatArray
    strata: tuple[Indices, ...]


def take_logs(rounds: Sequence[TimingRound], clock: Clock = "wall") -> Logs:
    """Return the logarithms of all rounds, which are at least one."""

    def logs(which: str) -> FloatArray:
        return np.array(
            [
                [
                    math.log(seconds_of(group.baseline, clock))
                    - math.log(seconds_of(getattr(group, which), clock))
                    for group in each.groups
                ]
                for each in rounds
            ]
        )

    places = np.array([each.moment.place for each in rounds])
    strata = tuple(np.flatnonzero(places == place) for place in np.unique(places))
    return Logs(logs("submission"), logs("reference"), strata)


def control_logs(rounds: Sequence[ControlRound], clock: Clock = "wall") -> FloatArray:
    """Return the logarithms of the ratios of a control, shape (rounds, 1)."""
    return np.array(
        [[math.log(seconds_of(each.one, clock) / seconds_of(each.other, clock))] for each in rounds]
    )


def seconds_of(block: Block, clock: Clock) -> float:
    """Return the seconds of a call in a block by a clock."""
    return block.seconds if clock == "wall" else max(1e-12, block.seconds * block.share)


def resample(strata: Sequence[Indices], generator: np.random.Generator) -> tuple[Indices, ...]:
    """Draw rounds with replacement within each stratum: shapes (RESAMPLES, rounds of it)."""
    return tuple(
        stratum[generator.integers(0, len(stratum), size=(RESAMPLES, len(stratum)))]
        for stratum in strata
    )


def centre(logs: FloatArray, picks: Sequence[Indices]) -> FloatArray:
    """Return the logarithm of the speed-up: median over rounds, mean over strata and shapes.

    `logs` has shape (rounds, shapes); each of `picks` shape (..., rounds of a stratum), the result
    the shape (...). The mean of logarithms is the geometric mean of ratios.
    """
    medians = [np.median(logs[pick], axis=-2).mean(axis=-1) for pick in picks]
    result: FloatArray = np.mean(medians, axis=0)
    return result


def estimate_log(
    logs: FloatArray,
    strata: Sequence[Indices],
    picks: Sequence[Indices],
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Estimate the logarithm of a speed-up from logarithms of shape (rounds, shapes)."""
    value = float(centre(logs, strata))
    return _estimate(value, centre(logs, picks), strata, confidence)


def estimate_share(logs: Logs, picks: Sequence[Indices]) -> Estimate:
    """Estimate which share of the reference's log speed-up the submission has.

    0 is the baseline's time, 1 the reference's. Both vary together, so they are drawn together. The
    reference must be faster than the baseline; a draw in which it is not counts as 1e-9.
    """
    value = centre(logs.submission, logs.strata) / _positive(centre(logs.reference, logs.strata))
    drawn = centre(logs.submission, picks) / _positive(centre(logs.reference, picks))
    return _estimate(float(value), drawn, logs.strata, CONFIDENCE)


def _positive(values: FloatArray) -> FloatArray:
    return np.maximum(1e-9, values)


def _estimate(
    value: float, drawn: FloatArray, strata: Sequence[Indices], confidence: float
) -> Estimate:
    tail = 50 * (1 - confidence)
    if len(strata) == 1:
        tail = 100 * expanded_tail(len(strata[0]), confidence)
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return Estimate(value, float(low), float(high))


def expanded_tail(rounds: int, confidence: float) -> float:
    """Return which part of the draws lies on each side of the interval of a single stratum.

    With few rounds their draws vary less than they should, and plain percentiles hold the true
    value in 93 of 100 cases instead of 95. So the tails are those of Student's distribution with
    the deviation that was lost (T. Hesterberg, "What teachers should know about the bootstrap",
    2015), its quantile by the series of Cornish and Fisher. Medians of several strata have too
    few rounds each to vary too little: there plain percentiles hold it in 96 of 100 cases or more.
    """
    if rounds < 2:
        return 0.0
    normal, freedom = NormalDist(), rounds - 1
    z = normal.inv_cdf((1 + confidence) / 2)
    student = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return normal.cdf(-student * math.sqrt(rounds / freedom))
