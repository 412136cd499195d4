"""From a runner's slices to what the report says of a schedule's speed, or to why it says nothing.

Nothing a runner says is taken as a verdict: it reports times, and here they are estimated from and
held against what the machine can do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.errors import Told
from grader.evidence.case import Problem
from grader.language import Text, say
from grader.messages.timing import Clock, MachineLimits
from grader.report import CheckCode, SelfTest, ShapeTiming, Timing
from grader.report.parts import UNSETTLED
from grader.timing.estimate import (
    TimedSlice,
    Times,
    estimate,
    shape_seconds,
    speedup_of,
)
from grader.timing.slices import BASELINE, REFERENCE, SUBMISSION, FloatArray

STEADY_SPEEDUP = 1.1
"""The reference must be so many times faster than the unscheduled function, or the scale between
the two is too short to place anybody on it."""

MOST_ERROR = 0.02
"""Largest logarithm of the ratio of a function to its copy. Two compilations of one function may
differ by 0.4%, by where their code lies; what is more is the machine's doing."""

FAR_SLOWER = 4.0
"""A schedule that takes so many times as long as the unscheduled function is worth nothing on any
machine. Of the others little is measured beside it."""

LEAST_US = 0.001
"""Times in the report are rounded to nanoseconds, and are never zero."""

MICRO = 1e6
ITEM_SIZE = 4
GIGA = 1e-9


@dataclass(frozen=True)
class Work:
    """What one call of the function has to do at one batch size: operations, and bytes to move.

    `batch` is the first extent of its first array. `lanes`: a processor may do so many operations
    in the time of one on float32.
    """

    batch: int
    flops: int
    bytes: int
    lanes: int = 1


def function_work(
    arrays: Sequence[tuple[int, ...]],
    output: tuple[int, ...],
    operations: int,
    item_sizes: Sequence[int] | None = None,
) -> Work:
    """Return the work of a function of arrays of some shapes, the batch's first.

    Each item of the output takes so many `operations`; each array is moved once. `item_sizes` are
    the bytes of an item of each array and of the output, those of float32 without any.
    """
    shapes = (*arrays, output)
    sizes = item_sizes or [ITEM_SIZE] * len(shapes)
    moved = sum(size * math.prod(shape) for size, shape in zip(sizes, shapes, strict=True))
    # Instructions for dot products do as many times as many of shorter numbers.
    lanes = max(1, ITEM_SIZE // min(sizes))
    return Work(arrays[0][0], operations * math.prod(output), moved, lanes)


@dataclass(frozen=True)
class Setting:
    """A measurement's function, the variant that it computes, target, processors and work.

    `limits` are what the processors can do at most, `clock` is the one that was read.
    """

    function: str
    variant: str
    target: str
    cpus: tuple[int, ...]
    work: tuple[Work, ...]
    limits: MachineLimits
    clock: Clock = "wall"


class Unsteady(Told):
    """Raised when a measurement says nothing; `problem` says why, and what to do."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.reason)
        self.problem = problem


def put_off(reason: Text, hint: Text | None = None, code: CheckCode = "busy") -> Problem:
    """Return why nothing was measured, which is the machine's: it is tried again later."""
    quieter = say("this-not-your-fault-ask-for-regrade")
    return Problem(reason, hint or quieter, again=True, code=code)


def read_measurement(
    slices: Sequence[TimedSlice], setting: Setting, generator: np.random.Generator
) -> Timing:
    """Estimate, and make a timing of it. Raises Unsteady."""
    times = Times(slices)
    verdict = estimate(times, generator)
    if verdict.reference < math.log(STEADY_SPEEDUP):
        raise Unsteady(_hardly_faster())
    is_far = verdict.submission.high < -math.log(FAR_SLOWER)
    if abs(verdict.control.value) > MOST_ERROR and not is_far:
        raise Unsteady(_unequal(verdict.control.value))
    lows = times.lows()
    speedup, control = (each.map(math.exp) for each in (verdict.submission, verdict.control))
    share = verdict.share
    return Timing(
        function=setting.function,
        workload=setting.variant,
        target=setting.target,
        threads=len(setting.cpus),
        cpus=setting.cpus,
        shapes=tuple(
            _shape(times, lows, place, work, setting.limits)
            for place, work in enumerate(setting.work)
        ),
        speedup=round(speedup.value, 4),
        ci_low=round(speedup.low, 4),
        ci_high=round(speedup.high, 4),
        reference_speedup=round(math.exp(verdict.reference), 4),
        share=round(share.value, 4),
        share_low=round(share.low, 4),
        share_high=round(share.high, 4),
        pairs=times.rounds,
        self_test=SelfTest(
            round(control.value, 5), round(control.low, 5), round(control.high, 5), times.rounds
        ),
        peak_gflops=round(setting.limits.flops * setting.work[0].lanes * GIGA, 1),
        bandwidth_gbs=round(setting.limits.bytes * GIGA, 1),
        notes=() if times.is_free else (UNSETTLED,),
        clock=setting.clock,
    )


def _hardly_faster() -> Problem:
    # On a quiet processor without AVX-512 students were told that it was busy: a reference that was
    # made for another one was as fast as the unscheduled function, whenever they tried.
    return put_off(
        say("speed-could-not-judged-courses-reference-schedule"),
        say("this-not-your-fault-reference-does"),
        "undecided",  # the machine is not busy: `grader verify` would pass the reference over
    )


def _unequal(logarithm: float) -> Problem:
    return put_off(
        say(
            "machine-too-busy-measure-speed-unscheduled-function",
            error=100 * abs(math.expm1(logarithm)),
        )
    )


def _shape(
    times: Times, lows: FloatArray, place: int, work: Work, limits: MachineLimits
) -> ShapeTiming:
    flops = limits.flops * work.lanes
    floor = max(work.flops / flops, work.bytes / limits.bytes)
    at_shape = lows[[place]]

    def microseconds(function: int) -> float:
        return max(LEAST_US, round(shape_seconds(lows, place, function) * MICRO, 3))

    return ShapeTiming(
        batch=work.batch,
        baseline_us=microseconds(BASELINE),
        submission_us=microseconds(SUBMISSION),
        reference_us=microseconds(REFERENCE),
        speedup=round(math.exp(float(speedup_of(at_shape, SUBMISSION))), 4),
        reference_speedup=round(math.exp(float(speedup_of(at_shape, REFERENCE))), 4),
        ratios=tuple(round(ratio, 5) for ratio in times.ratios(place)),
        flops=work.flops,
        bytes=work.bytes,
        floor_us=round(floor * MICRO, 3),
    )
