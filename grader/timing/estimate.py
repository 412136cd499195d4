"""From slices to a speed-up: what they say, how certain that is, and when there are enough."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from grader.messages.timing import TimingRules
from grader.timing.core import free_rounds
from grader.timing.slices import BASELINE, CONTROL, FUNCTIONS, REFERENCE, SUBMISSION, FloatArray
from grader.timing.stack import PLACES

RESAMPLES = 200
MOST_DRAWN = 2**22
"""So many times are drawn at once. All draws of as many slices as a runner may tell took 8 GB."""

CONFIDENCE = 0.95
_TAILS = (50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE))

LOWEST = 0.1
"""This part of a function's times at a place of the stack counts, the quickest, and one at least.

Of rounds that had the core for themselves a tenth varies half as much as a hundredth, and says the
same beside a load of 4 and beside a program that moves memory; a quarter does not."""

LEAST_FREE = 2
"""Each place has free rounds of so many slices at least, or all rounds count. One slice does not
show how slices differ: of 95% intervals from 17 rounds of one at each place 18 to 55% held the
value, and one more round in another slice made them endless."""


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


class TimedSlice(NamedTuple):
    """A slice's place of the stack, and seconds of a call for each shape, of shape (4, rounds); of
    beginnings of a schedule (functions, rounds). `looks` are those at the core, (3, rounds + 1)."""

    place: int
    seconds: tuple[FloatArray, ...]
    looks: FloatArray


class Times:
    """The times of all slices, which have equally many rounds, by the places of the stack.

    Those of rounds count that had the core for themselves, in whichever slices: beside a neighbour
    that rests for a millisecond now and then, 20 to 50 of 7,000 rounds gave each speed-up to 1%,
    and all together one that was 12% too high. Where a place has fewer than half a slice of
    them, or most in one slice, the core was not free, and all rounds count.
    """

    def __init__(self, slices: Sequence[TimedSlice]) -> None:
        """At least one slice is of each place."""
        free = free_rounds([each.looks for each in slices])
        self._length = len(free[0])
        wanted = max(self._length // 2, LEAST_FREE)
        most = math.ceil(wanted / LEAST_FREE)  # of one slice
        found: Counter[int] = Counter()
        for each, is_free in zip(slices, free, strict=True):
            found[each.place] += min(int(is_free.sum()), most)
        self.is_free = min(found.values()) >= wanted
        by_place: dict[int, list[FloatArray]] = {}
        for each, is_free in zip(slices, free, strict=True):
            if self.is_free and not is_free.any():
                continue
            logs = np.log(np.stack(each.seconds)).transpose(2, 0, 1)  # (rounds, shapes, 4)
            if self.is_free:
                logs[~is_free] = np.inf  # never among the lowest
            by_place.setdefault(each.place, []).append(logs)
        self._places = [np.stack(by_place[place]) for place in sorted(by_place)]

    @property
    def rounds(self) -> int:
        """Return how many rounds there are that count."""
        return sum(int(_countable(each).sum()) for each in self._places)

    @property
    def slices(self) -> int:
        """Return how many slices' rounds there are that count."""
        return self.rounds // self._length

    def lows(self) -> FloatArray:
        """Return the logarithm of each function's time, of shape (shapes, 4)."""
        lows = [_lowest(each[np.newaxis])[0] for each in self._places]
        return np.asarray(np.mean(lows, axis=0))

    def drawn_lows(self, generator: np.random.Generator) -> FloatArray:
        """Return the same of slices drawn with replacement: (RESAMPLES, shapes, 4)."""
        drawn = []
        for each in self._places:
            picks = generator.integers(len(each), size=(RESAMPLES, len(each)))
            drawn.append(_lowest_of_slices(each, picks))
        return np.asarray(np.mean(drawn, axis=0))

    def ratios(self, shape: int) -> list[float]:
        """Return the submission's speed-up in each slice, places one after the other."""
        lows = np.concatenate([_lowest(each) for each in self._places])[:, shape]
        return [float(each) for each in np.exp(lows[:, BASELINE] - lows[:, SUBMISSION])]


def _countable(logs: FloatArray) -> npt.NDArray[np.int_]:
    """Return how many rounds of each slice count: logarithms are (..., rounds, shapes, 4)."""
    return np.asarray(np.isfinite(logs[..., 0, 0]).sum(axis=-1))


def _lowest(logs: FloatArray) -> FloatArray:
    """Return the mean of the lowest of logarithms of shape (..., rounds, shapes, 4)."""
    flat = logs.reshape(len(logs), -1, *logs.shape[-2:])
    return _mean_of_lowest(flat, counted(_countable(flat)))


def _mean_of_lowest(logs: FloatArray, counts: npt.NDArray[np.int_]) -> FloatArray:
    """Return the mean of the lowest along the second axis, of so many in each row of the first."""
    means = np.empty((len(logs), *logs.shape[2:]))
    for count in np.unique(counts):  # a single one on a free core: it is looked at often
        rows = counts == count
        few = logs[rows]  # a copy
        few.partition(count - 1, axis=1)
        means[rows] = few[:, :count].mean(axis=1)
    return means


def _lowest_few(logs: FloatArray, count: int) -> FloatArray:
    """Return so many of the lowest along the second axis."""
    few: FloatArray = np.partition(logs, count - 1, axis=1)[:, :count]
    return few


def _lowest_of_slices(logs: FloatArray, picks: npt.NDArray[np.intp]) -> FloatArray:
    """Return what `_lowest` would of the slices picked: no more than the lowest of each count."""
    counts = counted(_countable(logs)[picks].sum(axis=1))
    best = _lowest_few(logs, min(int(counts.max()), logs.shape[1]))
    at_once = max(1, MOST_DRAWN // (picks.shape[1] * best[0].size))
    found = []
    for start in range(0, len(picks), at_once):
        drawn = slice(start, start + at_once)
        chosen = best[picks[drawn]]
        flat = chosen.reshape(len(chosen), -1, *best.shape[-2:])
        found.append(_mean_of_lowest(flat, counts[drawn]))
    return np.concatenate(found)


def counted(rounds: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """Return how many of so many times count."""
    return np.maximum(1, np.round(LOWEST * rounds)).astype(int)


def speedup_of(lows: FloatArray, function: int) -> FloatArray:
    """Return the logarithm of a function's speed-up over the baseline, the mean over shapes."""
    speedup: FloatArray = (lows[..., BASELINE] - lows[..., function]).mean(axis=-1)
    return speedup


def control_of(lows: FloatArray) -> float:
    """Return the logarithm of the baseline's time over that of its copy, at the first shape."""
    return float(lows[0, BASELINE] - lows[0, CONTROL])


class Verdict(NamedTuple):
    """What slices say: logarithms of speed-ups, and the share of the reference's that the
    submission has. 0 is the baseline's time, 1 the reference's.

    `control` is the baseline's own copy at the first shape, whose logarithm should be 0.
    """

    submission: Estimate
    reference: float
    share: Estimate
    control: Estimate


def estimate(times: Times, generator: np.random.Generator) -> Verdict:
    """Estimate from all slices. What varies together is drawn together.

    The reference must be faster than the baseline; a draw in which it is not counts as 1e-9. The
    quickest times can be no quicker in a draw, so draws say too little of what a busy machine hid:
    by as much as the baseline is off its own copy the intervals are wider.
    """
    lows, drawn = times.lows(), times.drawn_lows(generator)
    submission, reference = (speedup_of(lows, each) for each in (SUBMISSION, REFERENCE))
    drawn_submission, drawn_reference = (
        speedup_of(drawn, each) for each in (SUBMISSION, REFERENCE)
    )
    control = _interval(control_of(lows), drawn[:, 0, BASELINE] - drawn[:, 0, CONTROL])
    error = abs(control.value)
    scale = float(_positive(reference))
    return Verdict(
        submission=_interval(float(submission), drawn_submission, error),
        reference=float(reference),
        share=_interval(
            float(submission) / scale, drawn_submission / _positive(drawn_reference), error / scale
        ),
        control=control,
    )


def _positive(values: FloatArray) -> FloatArray:
    return np.maximum(1e-9, values)


def _interval(value: float, drawn: FloatArray, error: float = 0.0) -> Estimate:
    """Return the percentile interval, wider by an error on both sides. The quickest slice is not in
    every draw, so the value itself may lie at its end."""
    low, high = np.percentile(drawn, _TAILS)
    return Estimate(value, min(value, float(low)) - error, max(value, float(high)) + error)


HIGHEST_SHARE = 2.0
"""Beyond it nothing is worth more slices: the square of the reference's speed-up."""

FEWEST_SLICES = 4 * PLACES
"""So many slices are taken in any case, but of functions that take a second."""

LEAST_SLICES = 2 * PLACES
"""With fewer there is nothing to draw from."""

LOOK_EVERY = 4 * PLACES
"""Slices between two looks at the interval: each look costs some milliseconds, and is a chance to
stop by luck."""

STEADY = 0.005
"""Largest logarithm of the ratio of a function to its copy at which measuring may end early; with
twice as much the budget is doubled."""

PAUSE = 0.12
"""Seconds between two placements while the core is not free: three times as long as they take, so
that a program on the same core may end within the budget."""

MOST_PAUSES = 60


class Waiting:
    """Waits between placements while the core is not free."""

    def __init__(self) -> None:
        self._is_free = True
        self._pauses = 0

    def look(self, *, is_free: bool) -> None:
        """Take whether each place has slices of a free core."""
        self._is_free = is_free

    @property
    def is_over(self) -> bool:
        """Say whether the core was free, or there was enough waiting."""
        return self._is_free or self._pauses == MOST_PAUSES

    def pause(self) -> float:
        """Return how many seconds to wait before slices are taken."""
        if self.is_over:
            return 0.0
        self._pauses += 1
        return PAUSE


class Stopping:
    """Decides after each slice whether to go on. `generator` draws for its intervals."""

    def __init__(self, rules: TimingRules, generator: np.random.Generator) -> None:
        self._rules = rules
        self._generator = generator
        self._next_look = FEWEST_SLICES
        self.waiting = Waiting()

    def is_enough(self, slices: Sequence[TimedSlice], spent: float) -> bool:
        """Say whether slices of all places are enough; `spent` are seconds of the processor."""
        if len(slices) < LEAST_SLICES or len(slices) % PLACES:
            return False
        budget = self._rules.budget_seconds
        if spent >= 2 * budget:
            return True
        is_over = spent >= budget
        times = Times(slices)
        self.waiting.look(is_free=times.is_free)
        if not self.waiting.is_over:
            return False
        if not is_over and times.slices < self._next_look:
            return False
        self._next_look = times.slices + LOOK_EVERY
        verdict = estimate(times, self._generator)
        error = abs(verdict.control.value)
        if is_over:
            return error <= 2 * STEADY
        return error <= STEADY and verdict.share.map(self._worth).width <= self._rules.resolution

    def _worth(self, share: float) -> float:
        """Return a share without what nothing depends on: 0.96 and 1.03 may be worth the same."""
        lowest, highest = self._rules.full
        counted_share = min(max(share, 0.0), HIGHEST_SHARE)
        return min(counted_share, lowest) + max(0.0, counted_share - highest)


POSSIBLE = 1e-15, 1e6
"""Seconds that a call or an addition can take. Of others a float can hold no ratio: a runner that
told 1e300 and 1e-300 ended the grading with an error."""


def is_plausible(seconds: FloatArray, functions: int = FUNCTIONS) -> bool:
    """Say whether an array can be the times of a slice: (functions, rounds), in `POSSIBLE`."""
    least, most = POSSIBLE
    fits = seconds.ndim == 2 and seconds.shape[0] == functions and seconds.shape[1] > 0
    return fits and bool(((least <= seconds) & (seconds <= most)).all())


def shape_seconds(lows: FloatArray, shape: int, function: int) -> float:
    """Return the seconds of one call of a function at a shape."""
    return math.exp(float(lows[shape, function]))
