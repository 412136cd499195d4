"""RunModule: build a module, with a `main` around what has none, and call it."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import tvm
from tvm import relax

from grader.inside.common.arguments import (
    Arguments,
    Values,
    check_signature,
    module_to_run,
    unpack_arguments,
)
from grader.inside.common.executables import make_machine
from grader.inside.common.failure import TaskError, stage
from grader.inside.common.guards import Guards
from grader.inside.common.machine import find_target, for_one_run, use_threads
from grader.inside.common.modules import load_module
from grader.inside.common.poison import REPEATED, Poison, as_array
from grader.inside.runner.evaluation import Evaluator, Externs, extern_names, load_externs
from grader.messages.frames import RUNNER_FRAME_LIMIT, pack_array
from grader.messages.runner import RunModule, RunResult

Main = Callable[[Sequence[Values], int], Values]
"""Does one call, on its arrays; which one it is decides what its outputs are poisoned with."""

OUTPUT_LIMIT = RUNNER_FRAME_LIMIT - 2**20
"""Most bytes that the outputs of all calls may have, so that the answer fits its frame."""

REPEAT_TOLERANCE = 1e-5
"""How far two runs on the same input may differ where externs are at work: a library may add in
another order when its arrays lie elsewhere in memory. TVM's own functions repeat every bit."""


def run_module(task: RunModule, evaluator: Evaluator | None = None) -> RunResult:
    """Do the task, its pickled externs by way of an evaluator. Raises TaskError.

    The first call is made once more at the end: a module whose parallel loops overlap is found by
    giving another answer then. Memory that nobody has written holds other numbers in that call,
    unless it is seen in the outputs as it is: one that reads it is found, too, and told apart by
    a third call, which finds what the first one found.
    """
    with stage("decode"):
        arguments = unpack_arguments(task)
    built = _built_ahead.pop(_described(task), None) if _built_ahead else None
    module = _load(task) if built is None else built.module
    check_signature(module, arguments)
    poison = Poison() if built is None else built.poison
    externs = load_externs(module, task.externs, task.stubs, evaluator, poison)
    with externs.registered():
        main = build_main(module, task, externs, poison, built)
        outputs = run_calls(main, arguments)
        externs.reset()
        exact = not externs.calls
        is_clean = _is_finite(outputs[0]) and not poison.unwritten
        again = main(arguments.of_call(0), REPEATED if is_clean else 0)
        stale = is_clean and not repeats(again, outputs[0], exact=exact)
        if stale:
            externs.reset()
            again = main(arguments.of_call(0), 0)
        if not repeats(again, outputs[0], exact=exact):
            raise TaskError("run", "NotDeterministic", "The same input gave two different outputs.")
    with stage("run"):
        packed = pack_array(outputs)
    unwritten = () if is_clean else tuple(poison.unwritten)
    return RunResult(packed, unwritten=unwritten, stale=stale)


class Built(NamedTuple):
    """A module as it is run, built, with the guards and the poison that its code writes to."""

    module: tvm.IRModule
    executable: Any
    guards: Guards
    poison: Poison


_built_ahead: dict[bytes, Built] = {}
"""What was built before it was asked for, by what it was built from; it is run once."""


def build_ahead(task: RunModule) -> None:
    """Build what a task to come will run; externs need not be there for it. Raises TaskError."""
    built = _built_ahead[_described(task)] = _build(_load(task), task, Poison())
    # Machine code is made with the first virtual machine: half of what it takes to build.
    stubs = dict.fromkeys(extern_names(built.module), 0)
    externs = load_externs(built.module, {}, stubs, None, built.poison)
    with stage("build"), externs.registered():
        make_machine(built.executable)


def _described(task: RunModule) -> bytes:
    """Return all that a build depends on: of the arguments, what each call sees of their form."""
    forms = [
        (each.array.dtype, each.array.shape[1 if each.varies else 0 :]) for each in task.arguments
    ]
    return msgspec.msgpack.encode((task.module, task.function, task.outputs, task.target, forms))


def _load(task: RunModule) -> tvm.IRModule:
    with stage("load"):
        given = load_module(task.module) if task.module else None
    return module_to_run(given, task)


def _build(module: tvm.IRModule, task: RunModule, poison: Poison) -> Built:
    with stage("build"):
        target, _ = find_target(task.target)
        guards = Guards(fill=poison.own)
        with guards.building() as pipeline:
            executable = relax.build(module, for_one_run(target), tir_pipeline=pipeline)
    return Built(module, executable, guards, poison)


def build_main(
    module: tvm.IRModule,
    task: RunModule,
    externs: Externs,
    poison: Poison,
    built: Built | None = None,
) -> Main:
    """Build the module, guarded, unless it is; return its `main` as a function of one call's
    arrays, which returns a new array."""
    with stage("build"):
        use_threads(task.threads)
        built = built or _build(module, task, poison)
        guards = built.guards
        machine = make_machine(built.executable)
        machine.set_instrument(poison)
        function = machine["main"]
    expected = max(1, len(task.outputs))
    kept: dict[int, Any] = {}

    def main(values: Sequence[Values], call: int) -> Values:
        poison.reset(call)
        if call == task.restart:
            externs.reset()
        try:
            with stage("run"):
                result = function(*_tensors(values, task, kept))
        except TaskError as error:
            guards.demand_none()
            raise externs.error or error from None
        guards.demand_none()  # where only another thread's loop was ended, the call returns
        return _read_tensors(result, expected)

    return main


def _tensors(values: Sequence[Values], task: RunModule, kept: dict[int, Any]) -> list[Any]:
    """Return the arrays as TVM has them; those that are the same at every call are made once."""
    tensors = []
    for place, (value, argument) in enumerate(zip(values, task.arguments, strict=True)):
        if argument.varies:
            tensors.append(tvm.runtime.tensor(value))
            continue
        if place not in kept:
            kept[place] = tvm.runtime.tensor(value)
        tensors.append(kept[place])
    return tensors


def _read_tensors(result: Any, expected: int) -> Values:
    """Return a copy of the tensors in what `main` returned; several are laid in one row."""
    fields = list(result) if isinstance(result, tvm.ir.Array | tuple | list) else [result]
    if len(fields) != expected or not all(isinstance(each, tvm.runtime.Tensor) for each in fields):
        kinds = ", ".join(type(each).__name__ for each in fields)
        wanted = "one tensor" if expected == 1 else f"{expected} tensors"
        raise TaskError("signature", "WrongResult", f"main returns ({kinds}) instead of {wanted}.")
    with stage("signature"):
        arrays = [np.array(as_array(each)) for each in fields]
        if expected == 1:
            return arrays[0]
        return np.concatenate([each.reshape(-1) for each in arrays])


def run_calls(main: Main, arguments: Arguments) -> Values:
    """Make all calls; return the outputs, shape (calls, *output shape)."""
    first = main(arguments.of_call(0), 0)
    if first.nbytes * arguments.calls > OUTPUT_LIMIT:
        raise TaskError("signature", "TooLarge", f"main returns arrays of shape {first.shape}.")
    outputs = np.empty((arguments.calls, *first.shape), first.dtype)
    outputs[0] = first
    for number in range(1, arguments.calls):
        output = main(arguments.of_call(number), number)
        if output.shape != first.shape or output.dtype != first.dtype:
            message = f"main returned shape {first.shape}, then {output.shape}."
            raise TaskError("signature", "ChangingResult", message)
        outputs[number] = output
    return outputs


def _is_finite(output: Values) -> bool:
    with np.errstate(invalid="ignore"):  # what was never written is a signalling NaN
        return bool(np.isfinite(output).all())


def repeats(again: Values, before: Values, *, exact: bool) -> bool:
    """Say whether a second run gave the same output, bit by bit or nearly."""
    if again.shape != before.shape:
        return False
    if exact or not np.issubdtype(before.dtype, np.floating):
        return again.tobytes() == before.tobytes()
    finite = before[np.isfinite(before)]
    scale = float(np.abs(finite).max()) if finite.size else math.inf
    tolerance = REPEAT_TOLERANCE * scale if math.isfinite(scale) else 0.0
    return bool(np.allclose(again, before, rtol=REPEAT_TOLERANCE, atol=tolerance, equal_nan=True))
