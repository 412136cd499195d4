"""TimeSteps: what each step of a schedule brought, measured beside one another.

The functions in between are made here, of a base and a trace that the referee has read, and are
treated as a submission's function is: called once with every access checked, and then timed on
fenced arrays, in short blocks, with what their calls leave written down for the referee. It is a
measurement of its own, in its own process, when points are decided: it explains, and nothing
hangs on it.
"""

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import tvm_ffi

from grader.inside.common.failure import TaskError, stage
from grader.inside.common.guards import Guards
from grader.inside.common.machine import find_target
from grader.inside.common.modules import load_module, take_function
from grader.inside.common.timed import as_timed
from grader.inside.runner.arena import Arena
from grader.inside.runner.core import CoreLoops, compile_loops
from grader.inside.runner.kernels import Kernel
from grader.inside.runner.replay import apply_trace, beginning
from grader.inside.runner.signature import (
    OUTPUT,
    Form,
    Signature,
    parameter_forms,
    read_signature,
    unpack_arrays,
)
from grader.inside.runner.subjects import TimedKernels, TimedOutputs, guarded_call
from grader.inside.runner.timing import pack_slices, settle, without_collector
from grader.messages.timing import PrefixFate, ShapeResult, StepTimes, TimeSteps
from grader.timing.estimate import LEAST_PORTIONS, TimedSlice, Times, Waiting
from grader.timing.slices import (
    BLOCKS_OF_A_SLICE,
    CALLS_OF_A_SLICE,
    SLICE_SECONDS,
    TRIALS,
    Plan,
    Spending,
    choose_plan,
    in_turn,
    units_of_blocks,
)
from grader.timing.stack import PLACES, call_at

FEWEST_SLICES = 4 * PLACES
"""So many slices are taken in any case: the budget has room for them, or nothing is measured."""

MOST_BYTES = 64 * 2**20
"""Most bytes of the outputs that are kept, a whole one of each function."""

SLOTS = 2**18
"""Most items of the outputs of other calls that are kept of each function."""


class _Built(NamedTuple):
    """A function with guards for its first call, and as it is timed: the same where it needs none,
    as then the program is the same."""

    guards: Guards
    guarded: Kernel
    plain: Kernel


@dataclass(frozen=True)
class _Prepared:
    """All that can be done before anything is called: the function without a schedule, its copy,
    and each beginning, or None where `fates` says why not."""

    arena: Arena
    target: Any
    output: Form
    base: _Built
    copy: _Built
    built: list[_Built | None]
    fates: list[PrefixFate]


_ahead: dict[bytes, _Prepared] = {}
"""Functions that were built ahead of their task; the task takes them out."""


def build_steps_ahead(task: TimeSteps) -> None:
    """Compile all that a task needs, and call nothing. Raises TaskError."""
    _ahead[_key(task)] = _prepare(task)


def _key(task: TimeSteps) -> bytes:
    """Return what stays the same when processors are chosen; their number does not change."""
    return msgspec.msgpack.encode(msgspec.structs.replace(task, cpus=(len(task.cpus),)))


def time_steps(task: TimeSteps) -> StepTimes:
    """Do the task. Raises TaskError."""
    settle(task.cpus)
    prepared = _ahead.pop(_key(task), None) or _prepare(task)
    generator = np.random.default_rng(task.seed)
    base = prepared.base
    guarded_call(base.guards, base.guarded, prepared.arena)
    kernels = [base.plain, prepared.copy.plain, *_callable(prepared)]
    with stage("time"), without_collector():
        bench = Bench(kernels, prepared, generator)
        slices = pack_slices(_measure(bench, task, generator))
    return StepTimes(tuple(prepared.fates), bench.results(), slices)


# --- building -------------------------------------------------------------------------------------


def _prepare(task: TimeSteps) -> _Prepared:
    begin, threads = time.process_time(), len(task.cpus)
    with stage("decode"):
        trace = json.loads(task.trace)
        arrays = unpack_arrays(task.names, task.data, task.fixed, task.ring)
    with stage("load"):
        module = load_module(task.base)
    with stage("time"):
        target, _ = find_target(task.target)
    plain = as_timed(take_function(module, task.function), threads)
    output = parameter_forms(plain)[-1]
    signature = read_signature(plain, arrays, output)
    arena = Arena(arrays, task.ring, {**signature.shapes, OUTPUT: output.shape}, output.dtype)

    def build(name: str, function: Any) -> _Built:
        # a step that changes how arrays are taken would have another signature
        if read_signature(function, arrays, output) != signature:
            raise TaskError("signature", "WrongParameters", "A step changes the parameters.")
        with stage("build"):
            return _build(name, function, signature, arena, target)

    base, copy = build("base", plain), build("copy", plain)
    functions, fates = _functions(module, trace, task, threads)
    built: list[_Built | None] = [None] * len(functions)
    for place in _halving(len(functions)):
        if fates[place] == "timed" and time.process_time() - begin > task.build_seconds:
            fates[place] = "skipped"
        elif fates[place] == "timed":
            try:
                built[place] = build(f"step_{place}", functions[place])
            except TaskError:
                fates[place] = "failed"
    compile_loops(str(target))
    return _Prepared(arena, target, output, base, copy, built, fates)


def _build(name: str, function: Any, signature: Signature, arena: Arena, target: Any) -> _Built:
    guards = Guards(for_all_inputs=True)
    guarded = Kernel(f"guarded_{name}", function, signature, arena, target, guards)
    if not guards.checks:
        return _Built(guards, guarded, guarded)
    return _Built(guards, guarded, Kernel(name, function, signature, arena, target))


def _functions(
    module: Any, trace: list[Any], task: TimeSteps, threads: int
) -> tuple[list[Any], list[PrefixFate]]:
    """Return the function after each of the beginnings, and whether it is to be timed."""
    before = as_timed(take_function(module, task.function), threads)
    functions: list[Any] = []
    fates: list[PrefixFate] = []
    for end in task.ends:
        try:
            made = apply_trace(module, beginning(trace, end))
            function = as_timed(take_function(made, task.function), threads)
        except TaskError:
            functions.append(None)
            fates.append("failed")
            continue
        functions.append(function)
        fates.append("same" if tvm_ffi.structural_equal(before, function) else "timed")
        before = function
    return functions, fates


def _halving(count: int) -> list[int]:
    """Return places so that whatever there is time for lies evenly: the last one comes first."""
    order, step = [count - 1], 1 << (count - 1).bit_length()
    while step > 1:
        step //= 2
        order += [place for place in range(step - 1, count, step) if place not in order]
    return order


# --- calling --------------------------------------------------------------------------------------


def _callable(prepared: _Prepared) -> Iterator[Kernel]:
    """Yield what stays within its arrays in a call with guards, and so in every further one."""
    for place, built in enumerate(prepared.built):
        if built is None:
            continue
        try:
            guarded_call(built.guards, built.guarded, prepared.arena)
        except TaskError:
            prepared.fates[place] = "failed"
            continue
        yield built.plain


class Bench(TimedKernels):
    """The functions of a round, as `grader.timing.slices` has it."""

    def __init__(
        self, kernels: Sequence[Kernel], prepared: _Prepared, generator: np.random.Generator
    ) -> None:
        super().__init__(kernels, prepared.arena)
        shape, dtype = prepared.output
        self.count = len(kernels)
        self.core = CoreLoops(prepared.target)
        self._outputs = [
            TimedOutputs(shape, generator, dtype, most_bytes=0, slots=SLOTS) for _ in kernels[1:]
        ]
        item = np.dtype(prepared.arena.dtypes[OUTPUT]).itemsize
        if len(self._outputs) * item * math.prod(shape) > MOST_BYTES:
            raise TaskError("time", "TooLarge", "The outputs of so many functions are too large.")

    def keep(self) -> None:
        """Part of the protocol: whole outputs are kept by `keep_of`."""

    def keep_of(self, function: int) -> None:
        """Offer the whole output of a function, whose call was the last. Of the two copies the
        second one's are kept."""
        if function:
            self._outputs[function - 1].offer_whole(self.arena, self._made - 1)

    def finish(self) -> None:
        """Offer what calls have left. Raises TaskError where a function has written elsewhere."""
        self.demand_undisturbed()
        for function, outputs in enumerate(self._outputs, start=1):
            self.offer_to(outputs, function)

    def results(self) -> tuple[ShapeResult, ...]:
        """Return what was kept, of `base` and of each beginning that was timed."""
        return tuple(each.result() for each in self._outputs)


def _measure(bench: Bench, task: TimeSteps, generator: np.random.Generator) -> list[TimedSlice]:
    """Take slices until the budget is spent: four in turn have each place of the stack once."""
    plan = choose_plan(bench, task.block_seconds, len(task.cpus))
    seconds = round_seconds(bench, plan)
    if FEWEST_SLICES * seconds > 2 * task.budget_seconds:
        raise TaskError("time", "TooLong", "So many functions take too long to be measured.")
    most = min(BLOCKS_OF_A_SLICE, CALLS_OF_A_SLICE // plan.made) // bench.count
    rounds = max(1, min(math.floor(SLICE_SECONDS / seconds), most))
    slices: list[TimedSlice] = []
    spending, waiting = Spending(), Waiting()
    while len(slices) < FEWEST_SLICES or spending.seconds() * len(task.cpus) < task.budget_seconds:
        if len(slices) >= LEAST_PORTIONS * PLACES:
            waiting.look(is_free=Times(slices).is_free)
        time.sleep(waiting.pause())
        placement = len(slices) // PLACES
        for place in generator.permutation(PLACES).tolist():
            bench.begin(len(slices) + 1, placement)
            take = partial(_take_slice, bench, plan, rounds, generator)
            times, units = call_at(place, placement, take)
            bench.finish()
            slices.append(TimedSlice(place, (times,), (units,)))
    return slices


def round_seconds(bench: Bench, plan: Plan) -> float:
    """Return how long a round takes. A busy machine makes one of them as long as it likes, so that
    six quick functions were "too long to be measured" at a load of 6: each one's least counts."""
    least = np.min([_block_seconds(bench, plan) for _ in range(TRIALS)], axis=0)
    return max(1e-9, float(least.sum()) * plan.made / plan.calls)


def _block_seconds(bench: Bench, plan: Plan) -> npt.NDArray[np.float64]:
    for function in range(bench.count):
        bench.run(function, function, plan)
    return bench.seconds(bench.count)


def _take_slice(
    bench: Bench, plan: Plan, rounds: int, generator: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Take a slice: seconds of a call, (functions, rounds), and the core's units that were free
    meanwhile. In each round the order is drawn, and in one that is drawn each function's output is
    offered."""
    orders = [generator.permutation(bench.count).tolist() for _ in range(rounds)]
    kept = int(generator.integers(rounds))
    for number, function in in_turn(bench.core, orders):
        bench.run(function, number * bench.count + function, plan)
        if number == kept:
            bench.keep_of(function)
    blocks = bench.seconds(rounds * bench.count).reshape(rounds, bench.count)
    return np.ascontiguousarray(blocks.T / plan.calls), units_of_blocks(bench.core, orders)
