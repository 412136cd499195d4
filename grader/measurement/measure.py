"""Measuring: a task for a runner, and what its answer says."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import msgspec
import numpy as np

from grader.computation import ArgumentTable
from grader.errors import ProtocolError
from grader.evidence.candidates import UNTIMED
from grader.evidence.case import Problem
from grader.evidence.problems import explain_failure, told_by
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.language import NOTHING, Text, say
from grader.machine.cpus import quiet_cpus
from grader.measurement.library import LibraryTimer
from grader.measurement.limits import KnownLimits
from grader.measurement.points import SpeedOptions
from grader.measurement.read import (
    Setting,
    Unsteady,
    function_work,
    put_off,
    read_measurement,
)
from grader.messages.frames import Array, FrameError, number_type, pack_array, view_array
from grader.messages.runner import TaskFailure
from grader.messages.timing import (
    MachineLimits,
    MeasureLimits,
    ShapeResult,
    Slice,
    TimedFunction,
    TimeSchedule,
    TimingResult,
    TimingRules,
)
from grader.report import Timing
from grader.timing.estimate import TimedSlice, is_plausible
from grader.timing.slices import BLOCKS_OF_A_SLICE, FUNCTIONS, FloatArray
from grader.timing.stack import PLACES

RING = 4
"""Inputs that the calls of one slice take in turn."""

MOST_RINGS = 64
MOST_INPUT_BYTES = 16 * 2**20
"""Slices that have inputs of their own, and most bytes of inputs of one shape: after that slices
share theirs. To draw, send and keep four times as much took 0.2 s of each grading, and 150 MB."""

Cpus = Callable[[int], tuple[int, ...]]
"""Chooses so many processors to measure on, or fewer where there are not so many."""


@dataclass(frozen=True)
class Machine:
    """Where measurements are made, and what is known of it from earlier ones.

    `time_library` is None where the assignment has nothing to compare with.
    """

    choose_cpus: Cpus
    time_library: LibraryTimer | None = None
    limits: KnownLimits = field(default_factory=KnownLimits)


@dataclass(frozen=True)
class MeasurementSetup:
    """What a measurement needs beside the candidate: with what it is made, how, and where."""

    workload: str
    options: SpeedOptions
    subject: Subject
    points: float
    runners: RunnerPool
    machine: Machine


@dataclass(frozen=True)
class Version:
    """A function at one batch size: its module, its name in it, and its arrays' shapes by name.

    The first array is the one that changes. An empty module stands for the unscheduled function
    itself.
    """

    module: bytes
    function: str
    arrays: dict[str, tuple[int, ...]]

    @property
    def data(self) -> tuple[int, ...]:
        """Return the shape of the array that changes."""
        return next(iter(self.arrays.values()))


@dataclass(frozen=True)
class Measured:
    """A measurement that says something: what was asked, what was answered, what that means."""

    task: TimeSchedule
    answer: TimingResult
    timing: Timing


def measuring_cpus(count: int) -> tuple[int, ...]:
    """Return the `count` processors of this process that do least at the moment, or all it has."""
    return quiet_cpus(count, os.sched_getaffinity(0))


def measuring_threads(wanted: int) -> int:
    """Return how many of the threads that an assignment asks for this process can have."""
    return min(wanted, len(os.sched_getaffinity(0)))


def measure(
    versions: Sequence[Version], setup: MeasurementSetup, generator: np.random.Generator
) -> Measured | Problem:
    """Measure a function, at all batch sizes together, or at the first where that fails.

    What else runs meanwhile makes it longer, and less certain.
    """
    cpus = setup.machine.choose_cpus(setup.options.threads)
    task = msgspec.structs.replace(
        make_task(versions, setup, generator), cpus=cpus, seed=int(generator.integers(2**31))
    )
    limits = setup.machine.limits.find(cpus) or _measure_limits(setup, cpus)
    if isinstance(limits, Problem):
        return limits
    try:
        answer = setup.runners.request("timing", task)
    except ProtocolError:
        return UNTIMED
    if not isinstance(answer, TimingResult) and len(versions) > 1:
        return measure(versions[:1], setup, generator)
    if not isinstance(answer, TimingResult):
        return explain_failure(answer)
    slices = read_slices(answer.shapes, answer.slices, len(versions), FUNCTIONS)
    if slices is None or len(answer.shapes) != len(versions):
        return UNTIMED
    try:
        timing = _read(limits, versions, task, answer, slices, setup, generator)
    except Unsteady as unsteady:
        return unsteady.problem
    return Measured(task, answer, timing)


def _measure_limits(setup: MeasurementSetup, cpus: tuple[int, ...]) -> MachineLimits | Problem:
    """Measure what processors can do, in a runner that never gets a submission.

    Returns the most that they ever did, or why nothing can be measured: nothing is timed then, as
    no time could be said to be impossible.
    """
    try:
        answer = setup.runners.request("pure", MeasureLimits("host", cpus))
    except ProtocolError as error:
        return _unlimited(error.message)
    if not isinstance(answer, MachineLimits):
        return _unlimited(told_by(answer) if isinstance(answer, TaskFailure) else NOTHING)
    return setup.machine.limits.learn(cpus, answer)


def _unlimited(reason: Text) -> Problem:
    return put_off(say("this-machines-peak-could-not-measured", reason=reason))


def read_slices(
    results: Sequence[ShapeResult],
    slices: Iterable[Slice],
    shapes: int,
    functions: int,
) -> tuple[TimedSlice, ...] | None:
    """Return slices with the times of so many functions at so many shapes, as they were told.

    None unless all slices have these, all places have slices, all slices have as many rounds, no
    more than are ever taken, and all results have their arrays.
    """
    if any((len(each.inputs),) != each.outputs.shape[:1] for each in results):
        return None
    try:
        if not all(_is_readable(each) for each in results):
            return None
        found = tuple(
            TimedSlice(
                each.place,
                tuple(_times(array, functions) for array in each.seconds),
                tuple(_times(array, functions) for array in each.units),
            )
            for each in slices
        )
    except FrameError:
        return None
    is_whole = {*range(PLACES)} == {each.place for each in found}
    is_whole = is_whole and {shapes} == {
        len(arrays) for each in found for arrays in (each.seconds, each.units)
    }
    rounds = {array.shape[1] for each in found for array in (*each.seconds, *each.units)}
    fits = len(rounds) == 1 and max(rounds) * shapes * functions <= BLOCKS_OF_A_SLICE
    return found if is_whole and fits else None


def _times(array: Array, functions: int) -> FloatArray:
    """Return the times of a slice, or units. Raises FrameError where they cannot be times."""
    seconds = cast(FloatArray, view_array(array))
    if array.dtype != "float64" or not is_plausible(seconds, functions):
        raise FrameError("Times are positive float64.")
    return seconds


def _is_readable(result: ShapeResult) -> bool:
    """Say whether the arrays of a result have the types and lengths that belong together."""
    view_array(result.outputs)
    slots = (result.slots.inputs, result.slots.places, result.slots.values)
    arrays = [view_array(each) for each in slots]
    wanted = ["int32", "int32", result.outputs.dtype]
    return [str(each.dtype) for each in arrays] == wanted and all(
        each.ndim == 1 and len(each) == len(arrays[0]) for each in arrays
    )


def _read(
    limits: MachineLimits,
    versions: Sequence[Version],
    task: TimeSchedule,
    answer: TimingResult,
    slices: Sequence[TimedSlice],
    setup: MeasurementSetup,
    generator: np.random.Generator,
) -> Timing:
    """Estimate. Raises Unsteady.

    Where it is faster than processors were found to be, these are measured once more: they may have
    been held back before.
    """
    operations = setup.options.operations_per_item
    work = tuple(
        function_work(
            tuple(version.arrays.values()),
            result.outputs.shape[1:],
            operations,
            _item_sizes(setup.subject.tables(version.arrays), result),
        )
        for version, result in zip(versions, answer.shapes, strict=True)
    )
    compiled = versions[0].function, answer.variant, answer.target
    setting = Setting(*compiled, task.cpus, work, limits, answer.clock)
    timing = read_measurement(slices, setting, generator)
    is_beyond = any(each.submission_us < each.floor_us for each in timing.shapes)
    if is_beyond and isinstance(again := _measure_limits(setup, task.cpus), MachineLimits):
        timing = read_measurement(slices, replace(setting, limits=again), generator)
    wanted = setup.options.threads
    if timing.threads == wanted:
        return timing
    note = say("measured-with-threads-this-machine-has", threads=timing.threads, wanted=wanted)
    return msgspec.structs.replace(timing, notes=(*timing.notes, note))


def task_ahead(versions: Sequence[Version], setup: MeasurementSetup) -> TimeSchedule:
    """Return what `measure` will ask for, with zeros in its arrays and fewer of them."""
    task = make_task(versions, setup, None)
    threads = measuring_threads(setup.options.threads)
    return msgspec.structs.replace(task, cpus=tuple(range(threads)))


def make_task(
    versions: Sequence[Version], setup: MeasurementSetup, generator: np.random.Generator | None
) -> TimeSchedule:
    """Return what a runner is asked, but for processors and a seed; zeros without a generator."""
    options = setup.options
    names, (_, *fixed) = versions[0].arrays.keys(), versions[0].arrays.values()
    changing, *others = setup.subject.tables(versions[0].arrays)

    def draw(table: ArgumentTable, *extents: int) -> Array:
        if generator is None:
            return pack_array(np.zeros(extents, number_type(table.dtype)))
        if table.is_integer:
            drawn = generator.integers(*table.drawn, extents, endpoint=True)
            return pack_array(drawn.astype(table.dtype))
        normal = generator.standard_normal(extents, dtype=np.float32)
        normal = np.abs(normal) if table.positive else normal
        return pack_array(normal.astype(table.dtype, copy=False))

    def inputs(shape: tuple[int, ...]) -> int:
        return RING if generator is None else _inputs(shape)

    return TimeSchedule(
        workload=setup.workload,
        shapes=tuple(
            TimedFunction(
                version.module,
                version.function,
                draw(changing, inputs(version.data), *version.data),
            )
            for version in versions
        ),
        names=tuple(names),
        fixed=tuple(draw(each, *shape) for each, shape in zip(others, fixed, strict=True)),
        ring=RING,
        target="host",
        cpus=(),
        seed=0,
        rules=TimingRules(
            block_seconds=options.block_seconds,
            budget_seconds=options.budget_seconds,
            resolution=options.resolution(setup.points),
            full=options.full,
        ),
    )


def _item_sizes(tables: Sequence[ArgumentTable], result: ShapeResult) -> list[int]:
    dtypes = [*(each.dtype for each in tables), result.outputs.dtype]
    return [number_type(each).itemsize for each in dtypes]


def _inputs(shape: tuple[int, ...]) -> int:
    """Return how many inputs to draw: a fresh ring for each slice, as far as is affordable."""
    affordable = MOST_INPUT_BYTES // (4 * RING * math.prod(shape))
    return RING * max(1, min(MOST_RINGS, affordable))
