"""From the times of a schedule's beginnings to what each step brought.

A beginning whose outputs are not PyTorch's has no time: what it brought, and what the step after it
did, are then told together.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import mul

import msgspec
import numpy as np

from grader.evidence.oracle import Workload
from grader.language import NOTHING, Text
from grader.measurement.speed import is_right
from grader.measurement.steps.gather import NOT_MEASURED, MeasuredSteps, Prefix
from grader.report import StepChange, StepLine, StepSpeed, StepSpeeds
from grader.timing.estimate import CONFIDENCE, Estimate, Times
from grader.timing.slices import FloatArray

LEAST = 0.005
"""Smaller logarithms of a factor are no difference: two compilations of one function differ by up
to 0.4%, by where their code lies."""

LEAST_FACTOR = 0.0001
"""Factors in the report are rounded to so much, and are never zero: others are divided by them."""

_BASE, _COPY = 0, 1


def without_times(reason: Text) -> StepSpeeds | None:
    """Return what the report says where no step was timed; None where it says nothing."""
    return StepSpeeds((), reason=reason) if reason else None


def read_steps(
    measured: MeasuredSteps | None, variant: str, oracle: Workload, generator: np.random.Generator
) -> StepSpeeds | None:
    """Compare all outputs with the oracle's, and make factors of the times of those that are right.

    `variant` is what the whole schedule was found to compute.
    """
    if measured is None:
        return without_times(NOT_MEASURED)
    task, outputs = measured.asked.task, measured.answer.outputs
    is_base_right, *are_right = (
        is_right(task.fixed, task.data, each, variant, oracle) for each in outputs
    )
    if not is_base_right:
        return without_times(NOT_MEASURED)
    return _read(measured, are_right, generator)


class _Chain:
    """The times of the functions, of which each is compared with the last one that counts.

    Factors are logarithms.
    """

    def __init__(self, measured: MeasuredSteps, generator: np.random.Generator) -> None:
        times = Times(measured.slices)
        self._lows, self._drawn = times.lows()[0], times.drawn_lows(generator)[:, 0]
        self._error = max(LEAST, abs(float(self._lows[_BASE] - self._lows[_COPY])))
        self._last = _BASE

    def step_to(self, function: int) -> Estimate:
        """Return the factor from the function before to this one, which is then the last."""
        before, self._last = self._last, function
        return self._span(before, function)

    def total(self) -> Estimate:
        """Return the factor from the first function to the last."""
        return self._span(_BASE, self._last)

    def _span(self, before: int, after: int) -> Estimate:
        value = float(self._lows[before] - self._lows[after])
        drawn: FloatArray = self._drawn[:, before] - self._drawn[:, after]
        tail = 50 * (1 - CONFIDENCE)
        low, high = (float(each) for each in np.percentile(drawn, [tail, 100 - tail]))
        # what was never quiet is in no draw: as much as a copy is off
        return Estimate(value, min(low, value) - self._error, max(high, value) + self._error)


def _read(
    measured: MeasuredSteps, are_right: Sequence[bool], generator: np.random.Generator
) -> StepSpeeds:
    chain = _Chain(measured, generator)
    prefixes, fates = measured.asked.prefixes, measured.answer.fates
    idle = [
        kind
        for prefix, fate in zip(prefixes, fates, strict=True)
        if fate == "same"
        for kind in prefix.kinds
    ]
    steps = tuple(_regained(_steps(chain, measured, are_right)))
    total = chain.total()
    return StepSpeeds(steps, *_factors(total), idle=tuple(dict.fromkeys(idle)), reason=NOTHING)


def _steps(
    chain: _Chain, measured: MeasuredSteps, are_right: Sequence[bool]
) -> Iterator[StepSpeed]:
    right = iter(are_right)
    function = _COPY
    merged: Prefix | None = None
    pairs = zip(measured.asked.prefixes, measured.answer.fates, strict=True)
    for prefix, fate in pairs:
        if fate == "same":
            continue
        merged = prefix if merged is None else merged.and_then(prefix)
        if fate == "skipped":
            continue
        if fate == "failed":
            yield _untimed(prefix, "failed")
            continue
        function += 1
        if not next(right):
            yield _untimed(prefix, "wrong")
            continue
        span = chain.step_to(function)
        yield StepSpeed(merged.kinds, _lines(merged), _change(span), *_factors(span))
        merged = None


def _regained(steps: Iterable[StepSpeed]) -> Iterator[StepSpeed]:
    """Yield the steps; a loss that a later step makes up for is no advice against the step.

    Reordering loops so that the innermost can be vectorized makes a convolution four times slower,
    and vectorizing it four times as fast: without the first step there is not the second.
    """
    steps = [*steps]
    speeds = [*accumulate((each.factor for each in steps), mul)]
    for place, step in enumerate(steps):
        later = max(speeds[place + 1 :], default=0.0) / speeds[place]
        is_regained = step.change == "slower" and step.high * later >= 1
        yield msgspec.structs.replace(step, change="regained") if is_regained else step


def _untimed(prefix: Prefix, change: StepChange) -> StepSpeed:
    return StepSpeed(prefix.kinds, _lines(prefix), change)


def _lines(prefix: Prefix) -> tuple[StepLine, ...]:
    return tuple(StepLine(each.cell, each.line, each.text) for each in prefix.lines)


def _change(span: Estimate) -> StepChange:
    """Say what a factor means: nothing where the interval contains 1."""
    return "faster" if span.low > 0 else "slower" if span.high < 0 else "equal"


def _factors(span: Estimate) -> tuple[float, float, float]:
    told = span.map(lambda each: max(LEAST_FACTOR, round(math.exp(each), 4)))
    return told.value, told.low, told.high
