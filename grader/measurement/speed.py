"""Timing a candidate's function against the unscheduled one and the reference."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import msgspec
import numpy as np
import numpy.typing as npt

from grader.computation import TOLERANCES
from grader.evidence.case import Candidate, FloatArray, Problem, Replay, TimedSchedule
from grader.evidence.oracle import Workload
from grader.evidence.problems import FAULTS, explain_fault, is_close
from grader.evidence.subject import Subject
from grader.ir.facts import FunctionFacts
from grader.language import NOTHING, Text, join, say
from grader.measurement.library import LibraryTimer
from grader.measurement.measure import Measured, MeasurementSetup, Version, measure, task_ahead
from grader.measurement.points import SpeedOptions
from grader.measurement.read import MICRO
from grader.messages.frames import Array, view_array
from grader.messages.timing import ShapeResult, TimeSchedule
from grader.report import Timing

DECIDES_HINT = say("do-same-work-in-every-call-conditions")

UNGUARDED_HINT = say("read-and-write-buffers-by-indices-only")

TIMED_RTOL = 1e-3
TIMED_ATOL = 1e-4
"""Tolerance of timed outputs: sums of up to some hundred products of numbers near 1, in another
order. Integers have none, and what is rounded to fewer bits has that of its dtype."""


MOST_COMPARED_BYTES = 4 * 2**20
"""Most bytes of outputs that are computed at a time, unless one of them has more."""


def gather_timing(
    candidate: Candidate,
    setup: MeasurementSetup,
    generator: np.random.Generator,
    replay: Replay | None = None,
) -> Measured | Problem:
    """Measure one candidate, and its schedule at larger batches along with it, where `replay` has
    made it for some.

    Nothing else may run meanwhile, and all that can wait does: whether the outputs are right is
    seen afterwards, by `compare_timed`.
    """
    versions = _versions(candidate, setup, replay)
    if isinstance(versions, Problem):
        return versions
    measured = measure(versions, setup, generator)
    if isinstance(measured, Problem):
        return measured
    timing = with_library(measured, setup.machine.time_library)
    notes = (*timing.notes, *_alone(timing, setup.options, replay))
    return replace(measured, timing=msgspec.structs.replace(timing, notes=notes))


def timing_ahead(
    candidate: Candidate, setup: MeasurementSetup, batches: Sequence[int]
) -> TimeSchedule | None:
    """Return what `gather_timing` will ask for, as far as it is known while the notebook runs: None
    for nothing.

    At larger batches these are the course's own functions: a schedule must be proven to be there.
    """
    function = setup.subject.find(candidate.facts)
    if function is None:
        return None
    version = make_version(candidate.capture.module, function, setup.subject)
    if isinstance(version, Problem):
        return None
    first, *fixed = version.arrays.items()
    larger = [
        replace(version, module=b"", arrays={first[0]: (batch, *first[1][1:]), **dict(fixed)})
        for batch in batches
    ]
    return task_ahead([version, *larger], setup)


def timing_to_come(
    candidate: Candidate, setup: MeasurementSetup, replay: Replay | None
) -> TimeSchedule | None:
    """Return what `gather_timing` will ask for of the same: None where that measures nothing."""
    versions = _versions(candidate, setup, replay)
    return None if isinstance(versions, Problem) else task_ahead(versions, setup)


def compare_timed(measured: Measured, oracle: Workload) -> TimedSchedule:
    """Compare the outputs of what was timed with the oracle's: some seconds of computing."""
    right = outputs_right(measured, oracle)
    return TimedSchedule(measured.timing, right, measured.answer.hot_loops)


def _alone(timing: Timing, options: SpeedOptions, replay: Replay | None) -> list[Text]:
    """Say why a schedule was timed at its own batch alone, where larger ones were asked for."""
    if replay is None or len(timing.shapes) > 1 or not options.batches:
        return []
    reason = NOTHING if replay.proven else say("larger-batch-needs-schedule-that-proven")
    reason = reason or replay.larger_reason or say("at-larger-one-could-not-run")
    return [say("timed-at-own-batch-alone", reason=reason)]


def with_library(measured: Measured, time_library: LibraryTimer | None) -> Timing:
    """Add how long PyTorch takes for the same; where that cannot be said, a note says so."""
    timing = measured.timing
    if time_library is None:
        return timing
    fixed = [floats(array) for array in measured.task.fixed]
    shapes, notes = [], list(timing.notes)
    for function, shape in zip(measured.task.shapes, timing.shapes, strict=True):
        arrays = (floats(function.data)[0], *fixed)
        found = time_library(timing.workload, arrays, timing.cpus)
        if isinstance(found, Problem):
            notes.append(found.reason)
        else:
            shape = msgspec.structs.replace(shape, library_us=round(found.seconds * MICRO, 3))
        shapes.append(shape)
    return msgspec.structs.replace(timing, shapes=tuple(shapes), notes=tuple(dict.fromkeys(notes)))


def floats(array: Array) -> FloatArray:
    """Return the array of a message of our own, which holds floats, to read."""
    return cast(FloatArray, view_array(array))


def _versions(
    candidate: Candidate, setup: MeasurementSetup, replay: Replay | None
) -> list[Version] | Problem:
    """Return what is to be timed: a candidate's function, and its schedule at larger batches."""
    function = setup.subject.find(candidate.facts)
    if function is None:
        return setup.subject.missing
    larger = [(each.module, each.facts) for each in replay.larger] if replay is not None else []
    versions = []
    for module, facts in [(candidate.capture.module, function), *larger]:
        version = make_version(module, facts, setup.subject)
        if isinstance(version, Problem):
            return version
        versions.append(version)
    return versions


def make_version(module: bytes, facts: FunctionFacts, subject: Subject) -> Version | Problem:
    """Return what is to be timed, or why it must not be."""
    if facts.decisions:
        reason = facts.decisions[0].message
        useless = say("time-would-not-measure-schedule")
        return Problem(join(reason, useless), DECIDES_HINT, code="refused")
    if facts.unguarded is not None:
        if facts.unguarded.code in FAULTS:
            return explain_fault(facts.unguarded)
        unsure = say("cannot-shown-stay-inside-buffers")
        return Problem(join(facts.unguarded.message, unsure), UNGUARDED_HINT, code="refused")
    arrays = subject.arrays(facts)
    if isinstance(arrays, Problem):
        return arrays
    return Version(module, facts.name, arrays)


def outputs_right(measured: Measured, oracle: Workload) -> bool:
    """Compare the kept outputs with PyTorch's for the inputs that they were computed from."""
    return all(
        is_right(measured.task.fixed, shape.data, result, measured.answer.variant, oracle)
        for shape, result in zip(measured.task.shapes, measured.answer.shapes, strict=True)
    )


def is_right(
    fixed: Sequence[Array], inputs: Array, result: ShapeResult, variant: str, oracle: Workload
) -> bool:
    """Say whether the outputs that were kept are right, and what every call left at the place that
    was drawn for it.

    The outputs of a few inputs are computed at a time: all of them together took a gigabyte.
    """
    data, whole, *others = (floats(each) for each in (inputs, result.outputs, *fixed))
    of_whole = np.asarray(result.inputs, np.intp) % len(data)
    of_slots, places, values = (
        view_array(each) for each in (result.slots.inputs, result.slots.places, result.slots.values)
    )
    size = math.prod(whole.shape[1:])
    if not len(of_whole) or not len(of_slots) or of_slots.min() < 0:
        return False
    if places.min() < 0 or places.max() >= size:
        return False
    of_slots = of_slots % len(data)
    for few in _in_groups(np.union1d(of_whole, of_slots), size):
        desired = oracle.workload(variant, data[few], *others)
        if desired.shape != (len(few), *whole.shape[1:]):
            return False
        kept, slots = (np.flatnonzero(np.isin(each, few)) for each in (of_whole, of_slots))
        rows = np.searchsorted(few, of_whole[kept])
        flat = desired.reshape(len(few), -1)[np.searchsorted(few, of_slots[slots]), places[slots]]
        if not _all_close(whole[kept], desired[rows]):
            return False
        if not _all_close(cast(FloatArray, values[slots]), flat):
            return False
    return True


def _in_groups(inputs: npt.NDArray[np.intp], size: int) -> Iterator[npt.NDArray[np.intp]]:
    """Divide inputs into groups whose outputs, of so many float64 each, are compared at a time."""
    step = max(1, MOST_COMPARED_BYTES // (8 * size))
    yield from np.split(inputs, range(step, len(inputs), step))


def _all_close(actual: FloatArray, desired: FloatArray) -> bool:
    """Say whether all values are right, within what the dtype of those found allows."""
    by_type = TOLERANCES.get(str(actual.dtype), TOLERANCES["float32"])
    if by_type.atol == 0:
        return bool(is_close(actual, desired, 0.0, 0.0).all())
    rtol, atol = max(TIMED_RTOL, by_type.rtol), max(TIMED_ATOL, by_type.atol)
    return bool(is_close(actual, desired, rtol, atol).all())
