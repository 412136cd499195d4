"""RunModule: build a module and run its `main` on every batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import relax

from grader.messages import (
    RUNNER_FRAME_LIMIT,
    FrameError,
    RunModule,
    RunResult,
    pack_array,
    unpack_array,
)
from grader.runner.evaluation import Evaluator
from grader.runner.externs import Externs, load_externs
from grader.runner.failure import TaskError, stage
from grader.runner.machine import find_target, use_threads
from grader.runner.poison import Poison

Values = npt.NDArray[np.generic]
Main = Callable[[Values], Values]

OUTPUT_LIMIT = RUNNER_FRAME_LIMIT - 2**20
"""Most bytes that the outputs of all batches may have, so that the answer fits its frame."""

REPEAT_TOLERANCE = 1e-5
"""How far two runs on the same input may differ where externs are at work: a library may add in
another order when its arrays lie elsewhere in memory. TVM's own functions repeat every bit."""


def run_module(task: RunModule, evaluator: Evaluator | None = None) -> RunResult:
    """Do the task, its pickled externs by way of an evaluator. Raises TaskError.

    The first batch is run once more at the end: a module whose parallel loops overlap, or that
    reads memory which it never wrote, is found by giving another answer then.
    """
    with stage("decode"):
        inputs = unpack_inputs(task)
    with stage("load"):
        module = load_module(task.module)
    check_signature(module, inputs)
    poison = Poison()
    externs = load_externs(module, task.externs, task.stubs, evaluator, poison.awaits)
    with externs.registered():
        main = build_main(module, task, externs, poison)
        outputs = run_batches(main, inputs)
        calls = dict(externs.calls)
        externs.reset()
        exact = not externs.calls
        if not repeats(main(inputs[0]), outputs[0], exact=exact):
            raise TaskError("run", "NotDeterministic", "The same input gave two different outputs.")
    with stage("run"):
        packed = pack_array(outputs)
    return RunResult(packed, unwritten=tuple(poison.unwritten), calls=calls)


def unpack_inputs(task: RunModule) -> Values:
    """Return the inputs, shape (batches, *shape of one batch), with at least one batch."""
    inputs = unpack_array(task.inputs)
    if inputs.ndim < 1 or len(inputs) == 0:
        raise FrameError("no batch of inputs")
    return inputs


def load_module(document: bytes) -> tvm.IRModule:
    """Load TVM's graph JSON. Raises TypeError when it is something else than a module."""
    module = tvm.ir.load_json(document.decode())
    if not isinstance(module, tvm.IRModule):
        raise TypeError("the JSON holds something else than an IRModule")
    return module


def check_signature(module: tvm.IRModule, inputs: Values) -> None:
    """Raise TaskError unless `main` takes one tensor that a batch of `inputs` fits."""
    main = {var.name_hint: function for var, function in module.functions.items()}.get("main")
    if not isinstance(main, relax.Function):
        raise TaskError("signature", "NoMain", "The module has no Relax function called main.")
    if len(main.params) != 1:
        message = f"main takes {len(main.params)} arguments instead of one."
        raise TaskError("signature", "WrongArguments", message)
    expected = main.params[0].ty
    if not isinstance(expected, relax.TensorType):
        raise TaskError("signature", "NotATensor", "main takes something else than a tensor.")
    if not _fits(expected, inputs):
        message = f"main takes {expected}, the inputs are {inputs.dtype}{list(inputs.shape[1:])}."
        raise TaskError("signature", "WrongInput", message)


def _fits(expected: Any, inputs: Values) -> bool:
    if str(expected.dtype) not in ("", "void", str(inputs.dtype)):
        return False
    if expected.ndim not in (-1, inputs.ndim - 1):
        return False
    extents = expected.shape.values if isinstance(expected.shape, relax.ShapeExpr) else []
    pairs = zip(extents, inputs.shape[1:], strict=False)
    return all(int(a) == b for a, b in pairs if isinstance(a, tvm.tirx.IntImm))


def build_main(module: tvm.IRModule, task: RunModule, externs: Externs, poison: Poison) -> Main:
    """Build the module; return its `main` as a function of one batch that returns a new array."""
    with stage("build"):
        use_threads(task.threads)
        target, _ = find_target(task.target)
        executable = relax.build(module, target)
        machine = relax.VirtualMachine(executable, tvm.cpu())
        machine.set_instrument(poison)
        function = machine["main"]

    def main(batch: Values) -> Values:
        poison.reset()
        try:
            with stage("run"):
                result = function(tvm.runtime.tensor(batch))
        except TaskError as error:
            raise externs.error or error from None
        return _single_tensor(result)

    return main


def _single_tensor(result: Any) -> Values:
    """Return a copy of the one tensor in what `main` returned."""
    fields = list(result) if isinstance(result, tvm.ir.Array | tuple | list) else [result]
    if len(fields) != 1 or not isinstance(fields[0], tvm.runtime.Tensor):
        kinds = ", ".join(type(each).__name__ for each in fields)
        raise TaskError(
            "signature", "WrongResult", f"main returns ({kinds}) instead of one tensor."
        )
    with stage("signature"):
        return np.array(np.from_dlpack(fields[0]))


def run_batches(main: Main, inputs: Values) -> Values:
    """Run `main` on every batch; return the outputs, shape (batches, *output shape)."""
    first = main(inputs[0])
    if first.nbytes * len(inputs) > OUTPUT_LIMIT:
        raise TaskError("signature", "TooLarge", f"main returns arrays of shape {first.shape}.")
    outputs = np.empty((len(inputs), *first.shape), first.dtype)
    outputs[0] = first
    for index in range(1, len(inputs)):
        output = main(inputs[index])
        if output.shape != first.shape or output.dtype != first.dtype:
            message = f"main returned shape {first.shape}, then {output.shape}."
            raise TaskError("signature", "ChangingResult", message)
        outputs[index] = output
    return outputs


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
