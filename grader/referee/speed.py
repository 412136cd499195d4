"""Timing a candidate's convolution against the unscheduled one and the reference, in one runner."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
import numpy as np

from grader.ir.facts import FunctionFacts
from grader.messages import (
    Array,
    ShapeResult,
    TimedFunction,
    TimeSchedule,
    TimingResult,
    TimingRules,
    pack_array,
    unpack_array,
)
from grader.referee.checks.speed import SpeedOptions
from grader.referee.convolution import NO_CONVOLUTION, find_convolution
from grader.referee.evidence import Candidate, FloatArray, Problem, TimedSchedule
from grader.referee.failures import explain_failure
from grader.referee.measurement import Setting, Unsteady, convolution_work, read_measurement
from grader.referee.oracle import Oracle
from grader.referee.runners import RunnerPool
from grader.report import Timing
from grader.timing.pace import KnownPace

RING = 4
"""Inputs that the calls of one block take in turn."""

MOST_INPUT_BYTES = 64 * 2**20
"""Most bytes of inputs of one shape: with larger ones, rounds must share theirs."""

ATTEMPTS = 3
"""How often a measurement is made before the machine is called too busy: each on processors that
are chosen anew."""

DECIDES_HINT = (
    "A schedule must do the same work at every call: let conditions, loop bounds and indices depend"
    " on loop variables only, and write a ReLU as a maximum with 0."
)

TIMED_RTOL = 1e-3
TIMED_ATOL = 1e-4
"""Tolerance of timed outputs: sums of nine products of numbers near 1, in another order."""

Cpus = Callable[[int], tuple[int, ...]]
"""Chooses so many processors to measure on, or fewer where there are not so many."""


@dataclass(frozen=True)
class Machine:
    """Where measurements are made, and what is known of it from earlier ones."""

    choose_cpus: Cpus
    pace: KnownPace


@dataclass(frozen=True)
class Bench:
    """What a measurement needs beside the candidate: with what it is made, how, and where."""

    workload: str
    options: SpeedOptions
    points: float
    oracle: Oracle
    runners: RunnerPool
    machine: Machine


@dataclass(frozen=True)
class Version:
    """The candidate's function at one batch size: a module that the referee has read."""

    module: bytes
    facts: FunctionFacts


def last_cpus(count: int) -> tuple[int, ...]:
    """Return the last `count` processors that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0))[-count:])


def gather_timing(
    candidate: Candidate,
    bench: Bench,
    generator: np.random.Generator,
    larger: Sequence[Version] = (),
) -> TimedSchedule | Problem:
    """Measure one candidate, and its schedule at `larger` batches along with it.

    Nothing else of this grading may run meanwhile.
    """
    function = find_convolution(candidate.facts, bench.options.weight)
    if function is None:
        return NO_CONVOLUTION
    versions = (Version(candidate.capture.module, function), *larger)
    problem = next(filter(None, (_refuse(each.facts) for each in versions)), None)
    if problem is not None:
        return problem
    shapes = [_data_shape(each.facts, bench.options.weight) for each in versions]
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes):
        return Problem(
            f"`{function.name}` has no argument that could be the images.",
            "Keep the convolution a function of the input, the weight and the output.",
        )
    task = _task(versions, known, bench, generator)
    return _measure(function.name, task, known, bench, generator)


def _refuse(facts: FunctionFacts) -> Problem | None:
    """Return why a function must not be timed."""
    if not facts.decisions:
        return None
    reason = f"{facts.decisions[0].message} Its time would say nothing about a schedule."
    return Problem(reason, DECIDES_HINT)


def _measure(
    name: str,
    task: TimeSchedule,
    shapes: list[tuple[int, ...]],
    bench: Bench,
    generator: np.random.Generator,
) -> TimedSchedule | Problem:
    reasons = []
    for _ in range(ATTEMPTS):
        cpus = bench.machine.choose_cpus(bench.options.threads)
        attempt = msgspec.structs.replace(
            task,
            cpus=cpus,
            seed=int(generator.integers(2**31)),
            rules=msgspec.structs.replace(task.rules, pace=bench.machine.pace.best),
        )
        answer = bench.runners.request("timing", attempt)
        if not isinstance(answer, TimingResult):
            return explain_failure(answer)
        work = tuple(
            convolution_work(shape, task.weight.shape, result.outputs.shape[1:])
            for shape, result in zip(shapes, answer.shapes, strict=True)
        )
        pace = bench.machine.pace.learn(each.moment.probe for each in answer.rounds)
        setting = Setting(name, cpus, work, bench.options.widest, pace)
        try:
            timing = read_measurement(answer, setting, generator)
        except Unsteady as unsteady:
            reasons.append(str(unsteady))
        else:
            return TimedSchedule(
                _noted(timing, bench), _outputs_right(attempt, answer, bench.oracle)
            )
    return too_noisy(reasons)


def too_noisy(reasons: Sequence[str]) -> Problem:
    """Return the verdict of a machine on which nothing can be measured."""
    causes = "; ".join(dict.fromkeys(reasons))
    return Problem(
        f"The machine was too busy to measure, {len(reasons)} times: {causes}.",
        "This is not your fault. Have it graded again on a machine that does nothing else.",
    )


def _noted(timing: Timing, bench: Bench) -> Timing:
    """Add what whoever reads the numbers must know."""
    wanted = bench.options.threads
    if timing.threads == wanted:
        return timing
    note = f"Measured with {timing.threads} of {wanted} threads: this machine has no more."
    return msgspec.structs.replace(timing, notes=(*timing.notes, note))


def _task(
    versions: Sequence[Version],
    shapes: list[tuple[int, ...]],
    bench: Bench,
    generator: np.random.Generator,
) -> TimeSchedule:
    options = bench.options

    def draw(*extents: int) -> Array:
        return pack_array(generator.standard_normal(extents, dtype=np.float32))

    return TimeSchedule(
        workload=bench.workload,
        shapes=tuple(
            TimedFunction(version.module, version.facts.name, draw(_inputs(shape, options), *shape))
            for version, shape in zip(versions, shapes, strict=True)
        ),
        weight=draw(*options.weight),
        bias=draw(options.weight[0]),
        ring=RING,
        target="host",
        cpus=(),
        seed=0,
        rules=TimingRules(
            block_seconds=options.block_seconds,
            budget_seconds=options.budget_seconds,
            resolution=options.resolution(bench.points),
            highest_share=options.highest_share,
            pace=0.0,
            minimum_rounds=options.minimum_rounds,
            maximum_rounds=options.maximum_rounds,
            control_rounds=options.control_rounds,
        ),
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


def _outputs_right(task: TimeSchedule, answer: TimingResult, oracle: Oracle) -> bool:
    """Compare the kept outputs with PyTorch's for the inputs that they were computed from."""
    return all(
        _is_right(task, shape.data, result, answer.variant, oracle)
        for shape, result in zip(task.shapes, answer.shapes, strict=True)
    )


def _is_right(
    task: TimeSchedule, inputs: Array, result: ShapeResult, variant: str, oracle: Oracle
) -> bool:
    data, weight, bias = (
        cast(FloatArray, unpack_array(array)) for array in (inputs, task.weight, task.bias)
    )
    actual = unpack_array(result.outputs)
    used = [each % len(data) for each in result.inputs]
    if not used or len(used) != len(actual):
        return False
    desired = oracle.workload(variant, data[used], weight, bias)
    if actual.shape != desired.shape:
        return False
    return bool(np.allclose(actual, desired, rtol=TIMED_RTOL, atol=TIMED_ATOL))
