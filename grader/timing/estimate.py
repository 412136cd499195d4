"""From slices to a speed-up: what they say, how certain that is, and when there are enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from grader.messages.timing import TimingRules
from grader.timing.core import Mask, free_blocks
from grader.timing.slices import BASELINE, CONTROL, FUNCTIONS, REFERENCE, SUBMISSION, FloatArray
from grader.timing.stack import PLACES

RESAMPLES = 200
MOST_DRAWN = 2**18
"""So many times are weighed at once. All draws of as many slices as a runner may tell took 8 GB;
with 16 times as many at once, which no cache holds, they took five times as long."""

CONFIDENCE = 0.95
_TAILS = (50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE))

LOWEST = 0.1
"""This part of a function's times at a place of the stack counts, the quickest, and one at least.

Of rounds that had the core for themselves a tenth varies half as much as a hundredth, and says the
same beside a load of 4 and beside a program that moves memory; a quarter does not."""

PORTION = 0.25
"""A portion is slices in a row, at one place of the stack, that have so many free blocks of each
function, of the rounds of a slice. Draws are of portions: of slices some draws had one free block
of a function, and intervals were far too wide."""

LEAST_PORTIONS = 2
"""Each place has so many portions at least, or all blocks count. One slice does not show how slices
differ: of 95% intervals from 17 rounds of one at each place 18 to 55% held the value."""


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
    beginnings of a schedule (functions, rounds). `units` are those of the core that were free, of
    the same shapes."""

    place: int
    seconds: tuple[FloatArray, ...]
    units: tuple[FloatArray, ...]


class Times:
    """The times of all slices, which have equally many rounds, by the places of the stack.

    Those of blocks count that had the core for themselves, in whichever slices: beside a neighbour
    that rests for a millisecond now and then, 20 to 50 of 7,000 gave each speed-up to 1%, and all
    together one that was 12% too high. A whole round takes four times as long, and functions of
    150 microseconds had no free one beside a load of 4. Where a place has too few free blocks of a
    function, the core was not free, and all count.
    """

    def __init__(self, slices: Sequence[TimedSlice]) -> None:
        """At least one slice is of each place."""
        self._length: int = slices[0].seconds[0].shape[1]
        seconds = np.log([each.seconds for each in slices])  # (slices, shapes, 4, rounds)
        free = np.array(free_blocks([np.array(each.units) for each in slices]))
        places = [np.array([each.place for each in slices]) == place for place in range(PLACES)]
        least = max(1, int(PORTION * self._length))
        self._places = [_Place(seconds[each], free[each], least) for each in places]
        self.is_free = min(each.portions for each in self._places) >= LEAST_PORTIONS
        if not self.is_free:
            free[:] = True
            self._places = [_Place(seconds[each], free[each], least) for each in places]

    @property
    def rounds(self) -> int:
        """Return how many blocks count of the function that has the fewest."""
        return sum(min(each.logs.size for each in place.functions) for place in self._places)

    @property
    def slices(self) -> int:
        """Return how many slices have as many rounds."""
        return self.rounds // self._length

    def lows(self) -> FloatArray:
        """Return the logarithm of each function's time, of shape (shapes, 4)."""
        return np.asarray(np.mean([each.lows() for each in self._places], axis=0))

    def drawn_lows(self, generator: np.random.Generator) -> FloatArray:
        """Return the same of portions drawn with replacement: (RESAMPLES, shapes, 4)."""
        return np.asarray(np.mean([each.drawn_lows(generator) for each in self._places], axis=0))

    def ratios(self, shape: int) -> list[float]:
        """Return the submission's speed-up in each portion, places one after the other."""
        found: list[float] = []
        for place in self._places:
            functions = place.functions[shape * FUNCTIONS :]
            base, own = (functions[each].lows_of_portions() for each in (BASELINE, SUBMISSION))
            found += np.exp(np.subtract(base, own)).tolist()
        return found


class _Blocks(NamedTuple):
    """Of one function's blocks at a place the logarithms of their times, the lowest first, and the
    portion of each."""

    logs: FloatArray
    portions: npt.NDArray[np.intp]

    def lows_of_portions(self) -> list[float]:
        """Return the mean of the lowest of each portion."""
        ends = np.cumsum(np.bincount(self.portions))
        logs = self.logs[np.argsort(self.portions, kind="stable")]
        return [_low(each) for each in np.split(logs, ends[:-1])]


class _Place:
    """The blocks that count at one place of the stack, in portions.

    `seconds` and `is_free` are of shape (slices, shapes, 4, rounds). Slices after the last whole
    portion are added to it.
    """

    def __init__(self, seconds: FloatArray, is_free: Mask, least: int) -> None:
        self._shape = seconds.shape[1:3]
        portions = _portions(is_free.sum(axis=-1).reshape(len(seconds), -1), least)
        self.portions = int(portions.max()) + 1
        self.functions: list[_Blocks] = []
        for logs, free in zip(_by_function(seconds), _by_function(is_free), strict=True):
            of_slice, _ = np.nonzero(free)
            order = np.argsort(logs[free])
            self.functions.append(_Blocks(logs[free][order], portions[of_slice][order]))

    def lows(self) -> FloatArray:
        """Return the mean of each function's lowest, (shapes, 4)."""
        return np.reshape([_low(each.logs) for each in self.functions], self._shape)

    def drawn_lows(self, generator: np.random.Generator) -> FloatArray:
        """Return that of portions drawn with replacement: (RESAMPLES, shapes, 4)."""
        picks = generator.integers(self.portions, size=(RESAMPLES, self.portions))
        weights = np.stack([np.bincount(each, minlength=self.portions) for each in picks])
        lows = [_drawn_lows(each, weights) for each in self.functions]
        return np.reshape(np.transpose(lows), (RESAMPLES, *self._shape))


def _by_function(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return (shapes * 4, slices, rounds) of (slices, shapes, 4, rounds)."""
    slices, shapes, functions, rounds = values.shape
    return np.swapaxes(values.reshape(slices, shapes * functions, rounds), 0, 1)


def _portions(counts: npt.NDArray[np.int_], least: int) -> npt.NDArray[np.intp]:
    """Return the portion of each slice, by the number of its blocks that count of each function;
    -1 where there is not one whole portion."""
    portions, portion = np.zeros(len(counts), np.intp), 0
    total = np.zeros_like(counts[0])
    for place, count in enumerate(counts):
        portions[place] = portion
        total += count
        if total.min() >= least:
            portion += 1
            total[:] = 0
    return np.minimum(portions, portion - 1)


def _low(logs: FloatArray) -> float:
    """Return the mean of the lowest, which come first."""
    return float(logs[: counted(len(logs))].mean())


def _drawn_lows(blocks: _Blocks, weights: npt.NDArray[np.int_]) -> FloatArray:
    """Return the mean of the lowest of each draw, of (draws, portions): how often it has each."""
    wanted = counted(weights @ np.bincount(blocks.portions))
    few = 4 * int(wanted.max())
    sizes = np.bincount(blocks.portions[:few], minlength=weights.shape[1])
    if (weights @ sizes < wanted).any():
        few = len(blocks.logs)  # some have none of the portions of the lowest
    logs, portions = blocks.logs[:few], blocks.portions[:few]
    at_once = max(1, MOST_DRAWN // len(logs))
    lows = []
    for start in range(0, len(weights), at_once):
        most = wanted[start : start + at_once, np.newaxis]
        taken = np.minimum(np.cumsum(weights[start : start + at_once, portions], axis=1), most)
        lows.append(np.diff(taken, axis=1, prepend=0) @ logs / most[:, 0])
    return np.concatenate(lows)


def counted(blocks: Any) -> npt.NDArray[np.int_]:
    """Return how many of so many times count."""
    return np.maximum(1, np.round(LOWEST * np.asarray(blocks))).astype(int)


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
