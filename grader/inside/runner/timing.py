"""TimeSchedule: measure a schedule beside baseline and reference.

Only measuring happens here, nothing is estimated for a report or judged. Nothing in this process
ever was a student's Python: modules are loaded after the course's workload was executed, and their
functions get their arrays and nothing else. How it is measured is in `grader.timing`.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import NamedTuple

import numpy as np

from grader.inside.common.failure import TaskError, stage
from grader.inside.common.machine import find_target, pin, use_threads
from grader.inside.runner.subjects import ShapeSubjects, compile_shape_ahead, prepare_shape
from grader.messages import ControlRound, TimeSchedule, TimingResult, TimingRound
from grader.timing.estimate import Stopping
from grader.timing.rounds import (
    Series,
    SystemMeter,
    Trio,
    affordable_calls,
    choose_calls,
    take_control_round,
    take_round,
)


class _Measured(NamedTuple):
    control: tuple[ControlRound, ...]
    rounds: tuple[TimingRound, ...]


def time_schedule(task: TimeSchedule) -> TimingResult:
    """Do the task. Raises TaskError."""
    _settle(task.cpus)
    meter = SystemMeter(task.cpus)
    generators = np.random.default_rng(task.seed).spawn(len(task.shapes) + 1)
    with stage("time"):
        target, target_name = find_target(task.target)
        workload = load_workload(task.workload)
    shapes = [
        prepare_shape(number, shape, task, workload, target, generator)
        for number, (shape, generator) in enumerate(zip(task.shapes, generators[1:], strict=True))
    ]
    _demand_one_variant(shapes)
    with stage("time"), _without_collector():
        trios = [_trio(shape, task.rules.block_seconds, meter) for shape in shapes]
        measured = _measure(shapes, trios, task, generators[0], meter)
        return TimingResult(
            variant=shapes[0].variant,
            target=target_name,
            shapes=tuple(
                shape.outputs.result(trio.calls) for shape, trio in zip(shapes, trios, strict=True)
            ),
            control=measured.control,
            rounds=measured.rounds,
        )


def compile_ahead(task: TimeSchedule) -> None:
    """Compile the functions of a task to come, as it will be done with so many processors.

    Nothing is called, and this process is not confined to them. Raises TaskError.
    """
    target, _ = find_target(task.target)
    workload = load_workload(task.workload)
    for number, shape in enumerate(task.shapes):
        compile_shape_ahead(number, shape, task, workload, target)


def _settle(cpus: tuple[int, ...]) -> None:
    """Confine this process to `cpus` and let parallel loops have one thread for each."""
    with stage("time"):
        threads = use_threads(len(cpus))
        pin(cpus)
    if threads != len(cpus):
        message = f"The runner has {threads} threads instead of {len(cpus)}."
        raise TaskError("time", "TooFewThreads", message)


@functools.lru_cache(maxsize=1)
def load_workload(text: str) -> ModuleType:
    """Execute the course's own workload; it defines VARIANTS, `baseline` and `reference`.

    Once in a process: an intrinsic that it makes known to TVM is refused the second time, and what
    was compiled ahead could not be timed.
    """
    workload = ModuleType("workload")
    exec(compile(text, "workload.py", "exec"), workload.__dict__)  # noqa: S102 - course code
    return workload


def _demand_one_variant(shapes: list[ShapeSubjects]) -> None:
    if len({shape.variant for shape in shapes}) != 1:
        message = "The function computes something else at a larger batch."
        raise TaskError("signature", "UnknownWorkload", message)


def _trio(shape: ShapeSubjects, block_seconds: float, meter: SystemMeter) -> Trio:
    calls = choose_calls(shape.baseline, block_seconds, meter)
    affordable = affordable_calls(shape.submission, calls, block_seconds, meter)
    return Trio(shape.baseline, shape.submission, shape.reference, calls, affordable)


def _measure(
    shapes: list[ShapeSubjects],
    trios: list[Trio],
    task: TimeSchedule,
    generator: np.random.Generator,
    meter: SystemMeter,
) -> _Measured:
    """Take the control's rounds at the first shape, and then rounds until there are enough."""
    end = meter.wall() + task.rules.budget_seconds
    for_blocks, for_stopping, for_places = generator.spawn(3)
    series = Series(for_blocks, meter, end, task.rules.pace)

    def take_turn() -> None:
        for shape in shapes:
            shape.arena.take_turn(len(rounds) + 1, for_places)

    control: list[ControlRound] = []
    rounds: list[TimingRound] = []
    baseline, copy, calls = shapes[0].baseline, shapes[0].control, trios[0].calls
    for _ in range(task.rules.control_rounds):
        take_turn()
        control.append(take_control_round(baseline, copy, calls, series))
    stopping = Stopping(task.rules, for_stopping, end)
    while not stopping.is_enough(rounds, meter.wall(), series.pace):
        take_turn()
        rounds.append(take_round(trios, series))
    return _Measured(tuple(control), tuple(rounds))


@contextmanager
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
