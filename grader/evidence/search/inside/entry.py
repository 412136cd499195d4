"""DrawTrials and RankTrials: schedules drawn from a space, and which of them is fastest.

A space is a trace in which something is drawn: a tile's factors, a category, where a block is
computed. That is what MetaSchedule takes for one, and how it travels here: as a trace that the
referee has read, and a module. The function that a student wrote it by stays in the student's
kernel.

Drawing runs nothing of a submission, so what comes of it is a fact. Ranking does: each module is
called once with guards, and timed without. It is a choice among modules of one submission, and the
one that is chosen is read, proven, run and timed by others, as if it had been handed in alone.
"""

import json
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.s_tir.meta_schedule import _ffi_api as tuning
from tvm.s_tir.meta_schedule.postproc import (
    DisallowDynamicLoop,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
)

from grader.evidence.search.messages import (
    Answer,
    DrawnTrial,
    DrawnTrials,
    DrawTrials,
    RankTrials,
    Task,
    TrialTimes,
)
from grader.inside.common.allocations import PIPELINE
from grader.inside.common.arguments import check_signature, module_to_run, unpack_arguments
from grader.inside.common.blocks import block_places
from grader.inside.common.executables import make_machine
from grader.inside.common.failure import TaskError, shorten, stage
from grader.inside.common.guards import Guards
from grader.inside.common.machine import find_target, use_threads
from grader.inside.common.modules import load_module
from grader.inside.common.timed import as_timed
from grader.messages.runner import RunModule

POSTPROCESSORS = (DisallowDynamicLoop, RewriteParallelVectorizeUnroll, RewriteReductionBlock)
"""MetaSchedule's own for processors, in its order, less the one that changes layouts, which only
models have: what `meta_schedule.parallel` and the like ask for is done by them."""

BUILD_SECONDS = 30.0
"""After that no further module is built: those are not ranked."""

MOST_COPIES = 4096
"""A block that unrolled loops write out more often takes minutes to build, and is not tried: one
such draw would cost all the others their time."""

ROUNDS = 7
BLOCK_SECONDS = 0.002
"""Each module has so many blocks, in turn with the others', of which the fastest counts: whatever
disturbs a block makes it slower. A block lasts so long, or one call."""

Clock = Callable[[], float]


def perform(task: Task) -> Answer:
    """Do the task. Raises TaskError."""
    return draw_trials(task) if isinstance(task, DrawTrials) else rank_trials(task)


def draw_trials(task: DrawTrials) -> DrawnTrials:
    """Do the task. Raises TaskError where one of the documents cannot be loaded."""
    with stage("decode"):
        instructions = _before_postprocessing(json.loads(task.trace)[0])
    with stage("load"):
        base = load_module(task.base)
    postprocessors = _postprocessors(base)
    found: dict[int, list[Any]] = {}
    trials: list[DrawnTrial] = []
    failures: list[str] = []
    # Neighbouring seeds draw the same first: TVM's generator multiplies and divides them once.
    seeds = np.random.default_rng(task.seed).integers(1, 2**31 - 1, task.trials)
    for seed in seeds.tolist():
        try:
            schedule = _draw(base, instructions, seed, postprocessors)
        except TaskError as error:
            failures.append(shorten(error.message))
            continue
        alike = found.setdefault(tvm_ffi.structural_hash(schedule.mod), [])
        if any(tvm_ffi.structural_equal(schedule.mod, each) for each in alike):
            continue
        alike.append(schedule.mod)
        trace = json.dumps(schedule.trace.as_json(), default=lambda number: number.value).encode()
        trials.append(DrawnTrial(trace, tvm.ir.save_json(schedule.mod).encode()))
    return DrawnTrials(tuple(trials), len(failures), next(iter(failures), ""))


def _before_postprocessing(instructions: list[Any]) -> list[Any]:
    """Return the instructions of the space itself: a tuning record has those behind it, too, which
    belong to what was drawn then."""
    kinds = [each[0] for each in instructions]
    return (
        instructions[: kinds.index("EnterPostproc")] if "EnterPostproc" in kinds else instructions
    )


def _postprocessors(base: tvm.IRModule) -> list[Any]:
    """Return the postprocessors, made ready for a module.

    Without Python's own class of contexts, which imports the intrinsics of all processors that TVM
    knows; that takes a minute.
    """
    target = tvm.target.Target({"kind": "llvm", "num-cores": 1})
    context = tuning.TuneContext(base, target, None, None, "main", 1, 1, None)
    made = [kind() for kind in POSTPROCESSORS]
    for each in made:
        each._initialize_with_tune_context(context)
    return made


def _draw(
    base: tvm.IRModule, instructions: list[Any], seed: int, postprocessors: list[Any]
) -> tvm.s_tir.Schedule:
    """Return a schedule in which all is drawn that was left open. Raises TaskError."""
    with stage("run"):
        schedule = tvm.s_tir.Schedule(base, seed=seed, error_render_level="fast")
        tvm.s_tir.schedule.Trace.apply_json_to_schedule([instructions, []], schedule)
        schedule.enter_postproc()
        for each in postprocessors:
            if not each.apply(schedule):
                name = type(each).__name__
                raise TaskError("run", "Raised", f"{name} refuses it", error="ScheduleError")
        return schedule


class _Contender(NamedTuple):
    """A module that is built, with the arrays of one call. `calls` make up a block."""

    main: Callable[..., Any]
    arrays: tuple[Any, ...]
    calls: int

    def seconds(self, clock: Clock) -> float:
        """Return what one call of a block took."""
        start = clock()
        for _ in range(self.calls):
            self.main(*self.arrays)
        return max(1e-9, (clock() - start) / self.calls)


def rank_trials(task: RankTrials, clock: Clock = time.perf_counter) -> TrialTimes:
    """Do the task. Raises TaskError where the arrays cannot be unpacked."""
    with stage("build"):
        use_threads(task.run.threads)
        target, _ = find_target(task.run.target)
    end = clock() + BUILD_SECONDS
    contenders: list[_Contender | None] = []
    for document in task.modules:
        contender = None
        if clock() < end:
            contender = _contender(document, task.run, target, clock)
        contenders.append(contender)
    best: list[float | None] = [None] * len(contenders)
    for _ in range(ROUNDS):
        for place, each in enumerate(contenders):
            if each is not None:
                best[place] = min(best[place] or 1e9, each.seconds(clock))
    return TrialTimes(tuple(None if each is None else min(each, 3600.0) for each in best))


def _contender(document: bytes, run: RunModule, target: Any, clock: Clock) -> _Contender | None:
    """Build a module and call it; None where that cannot be done, or it leaves its buffers."""
    try:
        arguments = unpack_arguments(run)
        with stage("load"):
            module = module_to_run(load_module(document), run)
        if _copies(module) > MOST_COPIES:
            return None
        check_signature(module, arguments)
        arrays = tuple(map(tvm.runtime.tensor, arguments.of_call(0)))
        timed = _timed(module, run.threads)
        guards = Guards(for_all_inputs=True)
        with stage("build"), guards.building() as pipeline:
            main = make_machine(relax.build(timed, target, tir_pipeline=pipeline))["main"]
        try:
            with stage("run"):
                main(*arrays)
        finally:
            guards.demand_none()
        # Without a check the guarded build is the plain one.
        if guards.checks:
            with stage("build"):
                plain = relax.build(timed, target, tir_pipeline=PIPELINE)
                main = make_machine(plain)["main"]
        with stage("run"):
            main(*arrays)
            once = _Contender(main, arrays, 1).seconds(clock)
    except TaskError:
        return None
    return _Contender(main, arrays, max(1, min(10_000, int(BLOCK_SECONDS / once))))


def _copies(module: tvm.IRModule) -> int:
    """Return how often the block is written out that unrolled loops write out most."""
    functions = [each for each in module.functions.values() if isinstance(each, tirx.PrimFunc)]
    places = (place for function in functions for place in block_places(function.body))
    return max((math.prod(map(_rounds_written, place.loops)) for place in places), default=1)


def _rounds_written(loop: Any) -> int:
    is_unrolled = loop.kind == tirx.ForKind.UNROLLED and isinstance(loop.extent, tirx.IntImm)
    return int(loop.extent) if is_unrolled else 1


def _timed(module: tvm.IRModule, threads: int) -> tvm.IRModule:
    made = module.clone()
    for variable, function in module.functions.items():
        if isinstance(function, tirx.PrimFunc):
            made.update_func(variable, as_timed(function, threads))
    return made
