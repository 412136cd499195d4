"""From a runner's rounds to what the report says of a schedule's speed, or to why it says nothing.

Nothing a runner says is taken as a verdict: it reports blocks, and here they are dropped, estimated
and held against what the machine can do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.errors import Told
from grader.language import say
from grader.messages import MachineLimits, TimingResult, TimingRound
from grader.report import SelfTest, ShapeTiming, Timing
from grader.timing.estimate import (
    Clock,
    Control,
    Logs,
    centre,
    estimate_log,
    estimate_share,
    resample,
    seconds_of,
    split_rounds,
    take_logs,
)
from grader.timing.pace import is_held_back
from grader.timing.rounds import PLACES

MINIMUM_ROUNDS = 12
"""With fewer undisturbed rounds nothing is said: a wrong grade is worse than none."""

FEWEST_OF_A_PLACE = 3
"""Undisturbed rounds that there must be for each place of the stack."""

STEADY_SPEEDUP = 1.1
"""The reference must be so many times faster than the unscheduled function, or the scale between
the two is too short to place anybody on it."""

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
    """What a measurement was asked for: the function, where, and how narrow is narrow enough.

    `pace` is what a probe takes on this machine when nothing holds it back, `limits` what the
    processors can do at most.
    """

    function: str
    cpus: tuple[int, ...]
    work: tuple[Work, ...]
    widest: float
    pace: float
    limits: MachineLimits


HARDLY_FASTER = say("the reference schedule was hardly faster than the unscheduled function")
"""So it is on a machine that is held back, and on a processor that the reference does not suit."""


class Unsteady(Told):
    """Raised when a measurement says nothing; the text says what was wrong with it."""


def read_measurement(
    answer: TimingResult, setting: Setting, generator: np.random.Generator
) -> Timing:
    """Estimate, by the wall clock if that is possible. Raises Unsteady.

    One thread's processor time is nearly right even where others interrupt it.
    """
    try:
        return _read(answer, setting, generator, "wall")
    except Unsteady:
        if len(setting.cpus) > 1:
            raise
    return _read(answer, setting, generator, "processor")


def _read(
    answer: TimingResult, setting: Setting, generator: np.random.Generator, clock: Clock
) -> Timing:
    kept = _choose_rounds(answer, clock, setting.pace)
    self_test = _self_test(answer, setting, generator, clock)
    logs = _steady_logs(kept, clock)
    picks = resample(logs.strata, generator)
    speedup = estimate_log(logs.submission, logs.strata, picks).map(math.exp)
    share = estimate_share(logs, picks)
    if _counts(share.high) - _counts(share.low) > setting.widest:
        raise Unsteady(say("the interval of the speed-up would not become narrow"))
    return Timing(
        function=setting.function,
        workload=answer.variant,
        target=answer.target,
        threads=len(setting.cpus),
        cpus=setting.cpus,
        clock=clock,
        shapes=tuple(
            _shape(kept, logs, place, work, setting.limits, clock)
            for place, work in enumerate(setting.work)
        ),
        speedup=round(speedup.value, 4),
        ci_low=round(speedup.low, 4),
        ci_high=round(speedup.high, 4),
        reference_speedup=round(math.exp(_reference(logs)), 4),
        share=round(share.value, 4),
        share_low=round(share.low, 4),
        share_high=round(share.high, 4),
        pairs=len(kept),
        rejected=len(answer.rounds) - len(kept),
        self_test=self_test,
        peak_gflops=round(setting.limits.flops * setting.work[0].lanes * GIGA, 1),
        bandwidth_gbs=round(setting.limits.bytes * GIGA, 1),
    )


def _self_test(
    answer: TimingResult, setting: Setting, generator: np.random.Generator, clock: Clock
) -> SelfTest:
    """Return what the unscheduled function takes beside itself. Raises Unsteady where not 1."""
    control = Control(answer.control, setting.pace, generator, clock)
    if control.estimate is None:
        raise Unsteady(
            say(
                "only {kept} of {rounds} rounds of the self-test were undisturbed",
                kept=control.rounds,
                rounds=len(answer.control),
            )
        )
    if not control.passed:
        raise Unsteady(
            say("the unscheduled function, measured beside itself, seemed faster or slower")
        )
    ratio = control.estimate.map(math.exp)
    return SelfTest(
        round(ratio.value, 5), round(ratio.low, 5), round(ratio.high, 5), control.rounds
    )


def _steady_logs(kept: tuple[TimingRound, ...], clock: Clock) -> Logs:
    """Return the logarithms of the rounds that count. Raises Unsteady where they say too little."""
    logs = take_logs(kept, clock)
    rounds_of_places = [len(stratum) for stratum in logs.strata]
    if len(rounds_of_places) < PLACES or min(rounds_of_places) < FEWEST_OF_A_PLACE:
        raise Unsteady(say("too few rounds were undisturbed at one place of the stack"))
    if _reference(logs) < math.log(STEADY_SPEEDUP):
        raise Unsteady(HARDLY_FASTER)
    return logs


def _reference(logs: Logs) -> float:
    """Return the logarithm of the reference's speed-up."""
    return float(centre(logs.reference, logs.strata))


def _choose_rounds(answer: TimingResult, clock: Clock, pace: float) -> tuple[TimingRound, ...]:
    """Return the rounds that count. Raises Unsteady where they are too few.

    For processor time all count but those in which something that shares the core held it back.
    """
    if clock == "wall":
        kept, _ = split_rounds(answer.rounds, pace)
    else:
        kept = tuple(each for each in answer.rounds if not is_held_back(each.moment.probe, pace))
    if len(kept) < MINIMUM_ROUNDS:
        raise Unsteady(
            say(
                "only {kept} of {rounds} rounds were undisturbed",
                kept=len(kept),
                rounds=len(answer.rounds),
            )
        )
    return kept


def _counts(share: float) -> float:
    """Return the part of a share that points can depend on."""
    return min(max(share, 0.0), 1.0)


def _shape(
    kept: tuple[TimingRound, ...],
    logs: Logs,
    place: int,
    work: Work,
    limits: MachineLimits,
    clock: Clock,
) -> ShapeTiming:
    flops = limits.flops * work.lanes
    floor = max(work.flops / flops, work.bytes / limits.bytes)
    submission, reference = logs.submission[:, [place]], logs.reference[:, [place]]

    def median_us(which: str) -> float:
        seconds = [[seconds_of(getattr(each.groups[place], which), clock)] for each in kept]
        middle = math.exp(float(centre(np.log(seconds), logs.strata)))
        return max(LEAST_US, round(middle * MICRO, 3))

    return ShapeTiming(
        batch=work.batch,
        baseline_us=median_us("baseline"),
        submission_us=median_us("submission"),
        reference_us=median_us("reference"),
        speedup=round(math.exp(float(centre(submission, logs.strata))), 4),
        reference_speedup=round(math.exp(float(centre(reference, logs.strata))), 4),
        ratios=tuple(round(float(ratio), 5) for ratio in np.exp(submission[:, 0])),
        flops=work.flops,
        bytes=work.bytes,
        floor_us=round(floor * MICRO, 3),
    )
