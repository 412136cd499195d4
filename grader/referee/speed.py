"""Timing a candidate's convolution against the unscheduled one and the reference, in one runner."""

from __future__ import annotations

import math
import os
from typing import cast

import msgspec
import numpy as np

from grader.ir.facts import FunctionFacts
from grader.messages import Array, TimeSchedule, TimingResult, TimingRound, pack_array, unpack_array
from grader.referee.checks.speed import SpeedOptions
from grader.referee.convolution import NO_CONVOLUTION, find_convolution
from grader.referee.estimate import (
    MINIMUM_UNDISTURBED,
    Estimate,
    estimate_ratio,
    undisturbed,
)
from grader.referee.evidence import Candidate, FloatArray, Problem, TimedSchedule
from grader.referee.failures import explain_failure
from grader.referee.oracle import Oracle
from grader.referee.runners import RunnerPool
from grader.report import Timing

RING = 4
"""Inputs that the calls of one block take in turn."""

MOST_INPUT_BYTES = 64 * 2**20
"""Most bytes of inputs: with larger ones, rounds must share theirs."""

DECIDES_HINT = (
    "A schedule must do the same work at every call: let conditions, loop bounds and indices depend"
    " on loop variables only, and write a ReLU as a maximum with 0."
)

TIMED_RTOL = 1e-3
TIMED_ATOL = 1e-4
"""Tolerance of timed outputs: sums of nine products of numbers near 1, in another order."""


STEADY_RATIO = 1.1
STEADY_WIDTH = 0.25
"""The reference must be faster than the unscheduled function by this factor, and its interval no
wider than this in the logarithm: otherwise the machine was too busy to say anything of anybody."""

TOO_NOISY = Problem(
    "The machine was too busy to measure: even the reference schedule's time would not hold still.",
    "This is not your fault. Have it graded again on a machine that does nothing else.",
)


def measuring_cpus(threads: int) -> tuple[int, ...]:
    """Return the CPUs to measure on: the last of those this process may use, at most `threads`."""
    available = sorted(os.sched_getaffinity(0))
    return tuple(available[-threads:])


def gather_timing(
    candidate: Candidate,
    workload: str,
    options: SpeedOptions,
    oracle: Oracle,
    runners: RunnerPool,
    generator: np.random.Generator,
) -> TimedSchedule | Problem:
    """Measure one candidate. Nothing else of this grading may run meanwhile."""
    function = find_convolution(candidate.facts, options.weight)
    if function is None:
        return NO_CONVOLUTION
    if function.decisions:
        reason = f"{function.decisions[0].message} Its time would say nothing about a schedule."
        return Problem(reason, DECIDES_HINT)
    task = _task(candidate, function, workload, options, generator)
    if isinstance(task, Problem):
        return task
    for cpus in _attempts(options.threads):
        attempt = msgspec.structs.replace(task, cpus=cpus)
        answer = runners.request("timing", attempt)
        if not isinstance(answer, TimingResult):
            return explain_failure(answer)
        timing = _timing(function.name, attempt, answer, generator)
        if timing is not None:
            return TimedSchedule(timing, _outputs_right(attempt, answer, oracle))
    return TOO_NOISY


def _attempts(threads: int) -> tuple[tuple[int, ...], ...]:
    """Return the CPUs of each attempt: all that are allowed, once more, and then a single one.

    Several threads hold still only where nobody else works; one is hardly ever disturbed. The
    reference stays the one for several threads, as the submission does. Baseline
    and reference are measured on the same CPUs, so the points mean the same.
    """
    several = measuring_cpus(threads)
    return (several, several, several[-1:])


def _task(
    candidate: Candidate,
    function: FunctionFacts,
    workload: str,
    options: SpeedOptions,
    generator: np.random.Generator,
) -> TimeSchedule | Problem:
    shape = _data_shape(function, options.weight)
    if shape is None:
        return Problem(
            f"`{function.name}` has no argument that could be the images.",
            "Keep the convolution a function of the input, the weight and the output.",
        )

    def draw(*extents: int) -> Array:
        return pack_array(generator.standard_normal(extents, dtype=np.float32))

    return TimeSchedule(
        workload=workload,
        module=candidate.capture.module,
        function=function.name,
        data=draw(_inputs(shape, options), *shape),
        weight=draw(*options.weight),
        bias=draw(options.weight[0]),
        ring=RING,
        target="host",
        cpus=measuring_cpus(options.threads),
        threads=len(measuring_cpus(options.threads)),
        seed=int(generator.integers(2**31)),
        minimum_rounds=options.minimum_rounds,
        maximum_rounds=options.maximum_rounds,
        block_seconds=options.block_seconds,
        budget_seconds=options.budget_seconds,
    )


def _inputs(shape: tuple[int, ...], options: SpeedOptions) -> int:
    """Return how many inputs to draw: a fresh ring for each round, and one before the first."""
    affordable = MOST_INPUT_BYTES // (4 * RING * math.prod(shape))
    return RING * max(1, min(options.maximum_rounds + 1, affordable))


def _data_shape(function: FunctionFacts, weight: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the images' shape: the four-dimensional parameter with the weight's input channels."""
    for buffer in function.parameters:
        shape = buffer.tensor.shape
        if shape is None or shape == weight or len(shape) != len(weight):
            continue
        extents = tuple(extent for extent in shape if isinstance(extent, int))
        if len(extents) != len(shape) or extents[1] != weight[1]:
            continue
        if extents[0] != 1 or min(extents[2:]) > 1:  # (1, 1, 1, 1) would be a bias
            return extents
    return None


def _timing(
    function: str, task: TimeSchedule, answer: TimingResult, generator: np.random.Generator
) -> Timing | None:
    """Return the timing for the report, or None when the machine was too busy."""
    kept = undisturbed(answer.rounds)
    if len(kept) < MINIMUM_UNDISTURBED:
        return None
    submission = _compare(kept, "submission", generator)
    reference = _compare(kept, "reference", generator)
    if not _is_steady(reference):
        return None
    return Timing(
        function=function,
        workload=answer.fused,
        target=answer.target,
        threads=len(task.cpus),
        baseline_us=_median_us(kept, "baseline"),
        submission_us=_median_us(kept, "submission"),
        reference_us=_median_us(kept, "reference"),
        speedup=round(submission.ratio, 4),
        ci_low=round(submission.low, 4),
        ci_high=round(submission.high, 4),
        reference_speedup=round(reference.ratio, 4),
        pairs=len(kept),
        rejected=len(answer.rounds) - len(kept),
    )


def _is_steady(reference: Estimate) -> bool:
    width = float(np.log(reference.high / reference.low))
    return reference.low >= STEADY_RATIO and width <= STEADY_WIDTH


def _compare(
    rounds: tuple[TimingRound, ...], which: str, generator: np.random.Generator
) -> Estimate:
    return estimate_ratio(_seconds(rounds, "baseline"), _seconds(rounds, which), generator)


def _seconds(rounds: tuple[TimingRound, ...], which: str) -> np.ndarray:
    return np.array([getattr(each, which) for each in rounds], dtype=np.float64)


def _median_us(rounds: tuple[TimingRound, ...], which: str) -> float:
    return round(float(np.median(_seconds(rounds, which))) * 1e6, 2)


def _outputs_right(task: TimeSchedule, answer: TimingResult, oracle: Oracle) -> bool:
    """Compare every timed output with PyTorch's for the input that the round used."""
    data, weight, bias = (
        cast(FloatArray, unpack_array(array)) for array in (task.data, task.weight, task.bias)
    )
    actual = unpack_array(answer.outputs)
    used = [each.ring % len(data) for each in answer.rounds][: len(actual)]
    desired = oracle.workload(answer.fused, data[used], weight, bias)
    if actual.shape != desired.shape:
        return False
    return bool(np.allclose(actual, desired, rtol=TIMED_RTOL, atol=TIMED_ATOL))
