"""TimeSchedule: measure a schedule beside baseline and reference.

Only measuring happens here, nothing is estimated for a report or judged. Nothing in this process
ever was a student's Python: modules are loaded after the course's workload was executed, and their
functions get their arrays and nothing else. How it is measured is in `grader.timing`.
"""

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt

from grader.hotloop import find_hot_loop
from grader.inside.common.failure import TaskError, stage
from grader.inside.common.machine import find_target, pin, use_threads
from grader.inside.common.modules import load_workload
from grader.inside.runner.core import CoreLoops, compile_loops
from grader.inside.runner.subjects import Subjects, compile_shape_ahead, prepare_shape
from grader.messages.frames import pack_array
from grader.messages.timing import HotLoop, HotLoops, Slice, TimeSchedule, TimingResult, TimingRules
from grader.timing.estimate import Stopping, TimedSlice, Times
from grader.timing.slices import (
    BASELINE,
    PROCESSOR,
    REFERENCE,
    SUBMISSION,
    Plan,
    Spending,
    choose_plan,
    choose_rounds,
    take_slice,
)
from grader.timing.stack import PLACES, call_at


def time_schedule(task: TimeSchedule) -> TimingResult:
    """Do the task. Raises TaskError."""
    settle(task.cpus)
    generators = np.random.default_rng(task.seed).spawn(len(task.shapes) + 1)
    with stage("time"):
        target, target_name = find_target(task.target)
        workload = load_workload(task.workload)
    shapes = [
        prepare_shape(number, shape, task, workload, target, generator)
        for number, (shape, generator) in enumerate(zip(task.shapes, generators[1:], strict=True))
    ]
    _demand_one_variant(shapes)
    with stage("time"), without_collector():
        threads = len(task.cpus)
        plans = [choose_plan(each, task.rules.block_seconds, threads) for each in shapes]
        slices = _measure(shapes, plans, CoreLoops(target), task.rules, generators[0])
        return TimingResult(
            variant=shapes[0].variant,
            target=target_name,
            shapes=tuple(shape.outputs.result() for shape in shapes),
            slices=pack_slices(slices),
            hot_loops=read_hot_loops(shapes[0], Times(slices).lows()[0]),
            clock="processor" if any(each.clock == PROCESSOR for each in plans) else "wall",
        )


def pack_slices(slices: Sequence[TimedSlice]) -> tuple[Slice, ...]:
    """Return slices as the referee gets them."""
    return tuple(
        Slice(each.place, tuple(map(pack_array, each.seconds)), tuple(map(pack_array, each.units)))
        for each in slices
    )


def compile_ahead(task: TimeSchedule) -> None:
    """Compile the functions of a task to come, as it will be done with so many processors.

    Nothing is called, and this process is not confined to them. Raises TaskError.
    """
    target, _ = find_target(task.target)
    workload = load_workload(task.workload)
    compile_loops(str(target))
    for number, shape in enumerate(task.shapes):
        compile_shape_ahead(number, shape, task, workload, target)


def settle(cpus: tuple[int, ...]) -> None:
    """Confine this process to `cpus` and let parallel loops have one thread for each."""
    with stage("time"):
        threads = use_threads(len(cpus))
        pin(cpus)
    if threads != len(cpus):
        message = f"The runner has {threads} threads instead of {len(cpus)}."
        raise TaskError("time", "TooFewThreads", message)


def _demand_one_variant(shapes: Sequence[Subjects]) -> None:
    if len({shape.variant for shape in shapes}) != 1:
        message = "The function computes something else at a larger batch."
        raise TaskError("signature", "UnknownWorkload", message)


def _measure(
    shapes: Sequence[Subjects],
    plans: Sequence[Plan],
    core: CoreLoops,
    rules: TimingRules,
    generator: np.random.Generator,
) -> list[TimedSlice]:
    """Take slices until there are enough: four in turn have each place of the stack once."""
    for_slices, for_stopping = generator.spawn(2)
    stopping = Stopping(rules, for_stopping)
    rounds = choose_rounds(shapes, plans)
    slices: list[TimedSlice] = []
    spending = Spending()
    while not stopping.is_enough(slices, spending.seconds()):
        time.sleep(stopping.waiting.pause())
        placement = len(slices) // PLACES
        for place in for_slices.permutation(PLACES).tolist():
            for shape in shapes:
                shape.begin(len(slices) + 1, placement)
            take = partial(take_slice, shapes, plans, rounds, core, for_slices)
            slices.append(TimedSlice(place, *call_at(place, placement, take)))
            for shape in shapes:
                shape.finish()
    return slices


@contextmanager
def without_collector() -> Iterator[None]:
    """Collect garbage before the body, and none in it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_hot_loops(shape: Subjects, lows: npt.NDArray[np.float64]) -> HotLoops:
    """Return the hot loops of a shape's functions, by how long their calls take (`Times.lows`).

    None are read where the submission is not slower than the reference, and the baseline's only
    where it is slower than that as well.
    """
    if lows[SUBMISSION] <= lows[REFERENCE]:
        return HotLoops()
    is_slower = lows[SUBMISSION] > lows[BASELINE]
    return HotLoops(
        unscheduled=_hot_loop(shape, BASELINE) if is_slower else None,
        submission=_hot_loop(shape, SUBMISSION),
        reference=_hot_loop(shape, REFERENCE),
    )


def _hot_loop(shape: Subjects, function: int) -> HotLoop | None:
    """Return a function's hot loop; None where LLVM prints no text, or there is none in it."""
    try:
        return find_hot_loop(shape.assembly(function))
    except (RuntimeError, ValueError):
        # a measurement that says something is not lost for want of its explanation
        return None
