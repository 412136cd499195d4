"""Having the beginnings of a schedule measured: the task, and what its answer must be like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from grader.errors import DisplacedError, ProtocolError, SandboxError
from grader.evidence.case import Candidate, Problem, Replay
from grader.evidence.replay import NO_SCHEDULE
from grader.ir.trace import Trace, primitive, read_trace
from grader.language import NOTHING, Text, say
from grader.measurement.measure import (
    RING,
    MeasurementSetup,
    make_task,
    measuring_threads,
    read_slices,
)
from grader.measurement.speed import make_version
from grader.messages.frames import pack_array, view_array
from grader.messages.kernel import StepLine
from grader.messages.timing import PREFIX_LIMIT, StepTimes, TimeSteps
from grader.timing.estimate import TimedSlice


class Prefix(NamedTuple):
    """A beginning of a trace: its first `end` instructions.

    `kinds` are the steps that it has more than the one before it, as they are called in a notebook,
    and `lines` where they were written, each once; those that are not known are left out.
    """

    end: int
    kinds: tuple[str, ...]
    lines: tuple[StepLine, ...] = ()

    def and_then(self, later: Prefix) -> Prefix:
        """Return the later of two neighbours with the steps of both."""
        lines = dict.fromkeys((*self.lines, *later.lines))
        return Prefix(later.end, (*self.kinds, *later.kinds), tuple(lines))


def choose_prefixes(trace: Trace, lines: Sequence[StepLine]) -> tuple[Prefix, ...]:
    """Return at most PREFIX_LIMIT beginnings of a trace, the last of them all that changes code.

    Steps of one kind in a row are one where they were written in one line, or where no lines are
    known. Beginnings beyond the limit are merged where the fewest steps come together.
    """
    found: list[Prefix] = []
    kinds = dict(zip(trace.places, trace.kinds, strict=True))
    for place in trace.coded:
        line = lines[place] if place < len(lines) else StepLine()
        step = Prefix(place + 1, (primitive(kinds[place]),), (line,) if line.line else ())
        if found and found[-1].kinds[-1] == step.kinds[0] and found[-1].lines == step.lines:
            step = found.pop().and_then(step)
        found.append(step)
    while len(found) > PREFIX_LIMIT:
        first = min(range(len(found) - 1), key=lambda at: _together(found[at], found[at + 1]))
        found[first : first + 2] = [found[first].and_then(found[first + 1])]
    return tuple(found)


def _together(one: Prefix, other: Prefix) -> tuple[bool, int]:
    """Return how much two neighbours have in them; those of one kind come first."""
    return {*one.kinds} != {*other.kinds}, len(one.kinds) + len(other.kinds)


BUILD_SECONDS = 3.0
MEASURE_SECONDS = 0.9
"""Seconds of the processor; with what starts, calls and compares, five in all."""

WALL_SECONDS = 60.0
"""After so long there is no answer: a measurement that only explains is not waited for."""

RINGS = 4
"""Rings of inputs, which slices take in turn."""

NOT_MEASURED = say("they-could-not-measured")


class StepsTask(NamedTuple):
    """A runner's task, and the prefixes that it times."""

    task: TimeSteps
    prefixes: tuple[Prefix, ...]


class MeasuredSteps(NamedTuple):
    """What a runner has answered, decoded: nothing of it has been compared yet."""

    asked: StepsTask
    answer: StepTimes
    slices: tuple[TimedSlice, ...]


def unproven(setup: MeasurementSetup, replay: Replay | None) -> Text:
    """Return why the steps of a schedule are not timed, where it has steps; else NOTHING."""
    if replay is None or replay.proven or not setup.options.each_step or not replay.steps:
        return NOTHING
    return NOTHING if replay.reason in NO_SCHEDULE else replay.reason


def steps_task(
    candidate: Candidate,
    setup: MeasurementSetup,
    replay: Replay | None,
    generator: np.random.Generator,
) -> StepsTask | None:
    """Return what is to be asked about a proven schedule, None where nothing is.

    It is the same whenever it is asked for with a generator in the same state, but for processors.
    """
    capture = candidate.capture
    if replay is None or not replay.proven or not setup.options.each_step:
        return None
    function = setup.subject.find(candidate.facts)
    if function is None or capture.trace is None or capture.base is None:
        return None
    version = make_version(capture.module, function, setup.subject)
    if isinstance(version, Problem):
        return None
    trace = read_trace(capture.trace)
    prefixes = choose_prefixes(trace, capture.lines)
    if not prefixes:
        return None
    drawn = make_task([version], setup, generator)
    task = TimeSteps(
        base=capture.base,
        trace=trace.document,
        function=function.name,
        ends=tuple(each.end for each in prefixes),
        names=drawn.names,
        data=pack_array(view_array(drawn.shapes[0].data)[: RING * RINGS]),
        fixed=drawn.fixed,
        ring=RING,
        target=drawn.target,
        cpus=tuple(range(measuring_threads(setup.options.threads))),
        seed=int(generator.integers(2**31)),
        block_seconds=setup.options.block_seconds,
        build_seconds=BUILD_SECONDS,
        budget_seconds=MEASURE_SECONDS,
    )
    return StepsTask(task, prefixes)


def gather_steps(asked: StepsTask, setup: MeasurementSetup) -> MeasuredSteps | None:
    """Have the steps measured; None where that says nothing. No points hang on it."""
    cpus = setup.machine.choose_cpus(setup.options.threads)
    task = msgspec.structs.replace(asked.task, cpus=cpus)
    try:
        answer = setup.runners.request("timing", task, WALL_SECONDS)
    except (ProtocolError, SandboxError, DisplacedError):
        return None
    if not isinstance(answer, StepTimes):
        return None
    timed = answer.fates.count("timed")
    if len(answer.fates) != len(task.ends) or len(answer.outputs) != 1 + timed:
        return None
    slices = read_slices(answer.outputs, answer.slices, 1, 2 + timed)
    return None if slices is None else MeasuredSteps(asked, answer, slices)
