"""From rounds to a speed-up: which of them count, when there are enough, what they say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Literal, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from grader.messages import Block, ControlRound, TimingRound, TimingRules
from grader.timing.pace import is_held_back

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


LEAST_SHARE = 0.97
MOST_SHARE = 1.03
"""Between these shares of a block's wall time its calling thread has a processor, if nothing comes
in between; the clocks themselves disagree by less than one per cent of five milliseconds."""

Disturbance = Literal["scheduler", "processor", "steal", "neighbour"]
"""What disturbed a round: a thread had to leave its processor, the calling thread was not on one
for a time although nobody said so (it slept, or the whole machine did), the hypervisor was busy
with others, or something that shares the core held it back."""

Round = TypeVar("Round", TimingRound, ControlRound)


def split_rounds(
    rounds: Iterable[Round], pace: float
) -> tuple[tuple[Round, ...], dict[Disturbance, int]]:
    """Return the undisturbed rounds, and how many were dropped for what, the first cause each.

    `pace` is what a probe takes on this machine when nothing holds it back, 0 for unknown.
    """
    kept: list[Round] = []
    dropped: Counter[Disturbance] = Counter()
    for each in rounds:
        cause = find_disturbance(each, pace)
        if cause is None:
            kept.append(each)
        else:
            dropped[cause] += 1
    return tuple(kept), dict(dropped)


def find_disturbance(taken: TimingRound | ControlRound, pace: float) -> Disturbance | None:
    """Return what disturbed a round, None if nothing did."""
    blocks = _blocks(taken)
    if any(block.switches for block in blocks):
        return "scheduler"
    if not all(LEAST_SHARE <= block.share <= MOST_SHARE for block in blocks):
        return "processor"
    if taken.moment.steal:
        return "steal"
    return "neighbour" if is_held_back(taken.moment.probe, pace) else None


def _blocks(taken: TimingRound | ControlRound) -> Sequence[Block]:
    if isinstance(taken, ControlRound):
        return (taken.one, taken.other)
    return [
        block
        for group in taken.groups
        for block in (group.baseline, group.submission, group.reference)
    ]


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
