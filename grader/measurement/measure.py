"""Measuring: tasks for a runner, made again while the machine is busy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from grader.computation import ArgumentTable
from grader.errors import ProtocolError
from grader.evidence.candidates import UNTIMED
from grader.evidence.case import Problem
from grader.evidence.problems import explain_failure, told_by
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.language import NOTHING, Text, in_clauses, say
from grader.machine.cpus import quiet_cpus
from grader.measurement.library import LibraryTimer
from grader.measurement.points import SpeedOptions
from grader.measurement.read import (
    HARDLY_FASTER,
    Setting,
    Unsteady,
    function_work,
    read_measurement,
)
from grader.messages import (
    Array,
    FrameError,
    MachineLimits,
    MachinePace,
    MeasureLimits,
    MeasurePace,
    ShapeResult,
    TaskFailure,
    TimedFunction,
    TimeSchedule,
    TimingResult,
    TimingRules,
    number_type,
    pack_array,
    view_array,
)
from grader.report import Timing
from grader.timing.pace import FEWEST_PROBES, KnownLimits, KnownPace, find_pace
from grader.timing.rounds import FACTORS

RING = 4
"""Inputs that the calls of one block take in turn."""

MOST_INPUT_BYTES = 16 * 2**20
"""Most bytes of inputs of one shape: with larger ones, rounds must share theirs. To draw, send and
keep four times as much took 0.2 s of each grading, and 150 MB."""

PROBES = 2 * FEWEST_PROBES
"""How often the machine's pace is probed before a measurement: for a hundredth of a second."""

ATTEMPTS = 3
"""How often a measurement is made before the machine is called too busy: each on processors that
are chosen anew."""

Cpus = Callable[[int], tuple[int, ...]]
"""Chooses so many processors to measure on, or fewer where there are not so many."""


@dataclass(frozen=True)
class Machine:
    """Where measurements are made, and what is known of it from earlier ones.

    `time_library` is None where the assignment has nothing to compare with.
    """

    choose_cpus: Cpus
    pace: KnownPace
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

    Nothing else may run meanwhile.
    """
    task = _task(versions, setup, generator)
    reasons: list[Text] = []
    for _ in range(ATTEMPTS):
        cpus = setup.machine.choose_cpus(setup.options.threads)
        attempt = msgspec.structs.replace(
            task,
            cpus=cpus,
            seed=int(generator.integers(2**31)),
            rules=msgspec.structs.replace(task.rules, pace=_measure_pace(setup, cpus)),
        )
        limits = setup.machine.limits.find(cpus) or _measure_limits(setup, cpus)
        if isinstance(limits, Problem):
            return limits
        try:
            answer = setup.runners.request("timing", attempt)
        except ProtocolError:
            return UNTIMED
        if not isinstance(answer, TimingResult) and len(versions) > 1:
            return measure(versions[:1], setup, generator)
        if not isinstance(answer, TimingResult):
            return explain_failure(answer)
        if not _is_whole(answer, len(versions)):
            return UNTIMED
        try:
            timing = _read(limits, versions, attempt, answer, setup, generator)
        except Unsteady as unsteady:
            reasons.append(unsteady.reason)
        else:
            return Measured(attempt, answer, timing)
    return too_noisy(reasons)


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
    return _put_off(
        say("What this machine can do at most could not be measured: {reason}", reason=reason)
    )


def _measure_pace(setup: MeasurementSetup, cpus: tuple[int, ...]) -> float:
    """Probe in a runner that never gets a submission; return the best pace, 0 if unknown.

    Where it cannot be probed, what is known must do: a measurement finds a pace of its own.
    """
    try:
        answer = setup.runners.request("pure", MeasurePace(cpus, PROBES))
    except ProtocolError:
        return setup.machine.pace.best
    probes = answer.probes if isinstance(answer, MachinePace) else ()
    return setup.machine.pace.learn(probes)


def _is_whole(answer: TimingResult, shapes: int) -> bool:
    """Say whether an answer has a result, outputs and blocks for each shape."""
    if {shapes} != {len(answer.shapes), *(len(each.groups) for each in answer.rounds)}:
        return False
    if any((len(each.inputs),) != each.outputs.shape[:1] for each in answer.shapes):
        return False
    if not all(_calls_fit(answer, place) for place in range(shapes)):
        return False
    try:
        return all(_is_readable(each) for each in answer.shapes)
    except FrameError:
        return False


def _calls_fit(answer: TimingResult, shape: int) -> bool:
    """Say whether every block of the submission had calls, and no more than blocks may have.

    It may have fewer than the others: a slow function's are shortened.
    """
    most = 1 + round(FACTORS[1] * answer.shapes[shape].calls)
    blocks = (each.groups[shape].submission for each in answer.rounds)
    return all(1 <= block.calls <= most for block in blocks)


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
    pace = find_pace([each.moment.probe for each in answer.rounds], task.rules.pace)
    setting = Setting(versions[0].function, task.cpus, work, setup.options.widest, pace, limits)
    timing = read_measurement(answer, setting, generator)
    is_beyond = any(each.submission_us < each.floor_us for each in timing.shapes)
    if is_beyond and isinstance(again := _measure_limits(setup, task.cpus), MachineLimits):
        timing = read_measurement(answer, replace(setting, limits=again), generator)
    wanted = setup.options.threads
    if timing.threads == wanted:
        return timing
    note = say(
        "Measured with {threads} of {wanted} threads: this machine has no more.",
        threads=timing.threads,
        wanted=wanted,
    )
    return msgspec.structs.replace(timing, notes=(*timing.notes, note))


_QUIETER = say("This is not your fault. Have it graded again on a machine that does nothing else.")


def too_noisy(reasons: Sequence[Text]) -> Problem:
    """Return the verdict of a machine on which nothing can be measured."""
    # On a quiet processor without AVX-512 students were told that it was busy: a reference that was
    # made for another one was as fast as the unscheduled function, whenever they tried.
    if {*reasons} == {HARDLY_FASTER}:
        return _put_off(
            say(
                "The speed could not be judged, {times} times: {causes}.",
                times=len(reasons),
                causes=HARDLY_FASTER,
            ),
            say(
                "This is not your fault. Either the machine was held back each time, or the"
                " course's reference does not suit its processor: tell your instructor, and have"
                " it graded on another machine."
            ),
        )
    return _put_off(
        say(
            "The machine was too busy to measure the speed, {times} times: {causes}.",
            times=len(reasons),
            causes=in_clauses(dict.fromkeys(reasons)),
        )
    )


def _put_off(reason: Text, hint: Text = _QUIETER) -> Problem:
    """Return why nothing was measured, which is the machine's: it is tried again later."""
    return Problem(reason, hint, again=True, code="busy")


def task_ahead(versions: Sequence[Version], setup: MeasurementSetup) -> TimeSchedule:
    """Return what `measure` will ask for, with zeros in its arrays and fewer of them."""
    task = _task(versions, setup, None)
    threads = measuring_threads(setup.options.threads)
    return msgspec.structs.replace(task, cpus=tuple(range(threads)))


def _task(
    versions: Sequence[Version], setup: MeasurementSetup, generator: np.random.Generator | None
) -> TimeSchedule:
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
        return pack_array(normal.astype(table.dtype, copy=False))

    def inputs(shape: tuple[int, ...]) -> int:
        return RING if generator is None else _inputs(shape, options)

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
            pace=0.0,
            minimum_rounds=options.minimum_rounds,
            maximum_rounds=options.maximum_rounds,
            control_rounds=options.control_rounds,
        ),
    )


def _item_sizes(tables: Sequence[ArgumentTable], result: ShapeResult) -> list[int]:
    dtypes = [*(each.dtype for each in tables), result.outputs.dtype]
    return [number_type(each).itemsize for each in dtypes]


def _inputs(shape: tuple[int, ...], options: SpeedOptions) -> int:
    """Return how many inputs to draw: a fresh ring for each round, and one before the first."""
    affordable = MOST_INPUT_BYTES // (4 * RING * math.prod(shape))
    return RING * max(1, min(options.maximum_rounds + 1, affordable))
