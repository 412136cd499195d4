"""How a module is called: what its `main` is, which arrays it takes, and whether they fit.

A TIR function or a Python function gets a `main`. So everything that is run is run by the virtual
machine, which fills outputs with poison, counts calls and names what was never written.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tvm
from tvm import relax

from grader.inside.common.failure import TaskError, stage
from grader.inside.common.modules import functions_of
from grader.messages.frames import FrameError, unpack_array
from grader.messages.kernel import PYTHON_FUNCTION
from grader.messages.runner import RunModule

MAIN = "main"


def module_to_run(module: tvm.IRModule | None, task: RunModule) -> tvm.IRModule:
    """Return a module whose Relax `main` takes the task's arguments and returns its outputs.

    None stands for a task's Python function. Raises TaskError when there is no such function.
    """
    if module is None:
        with stage("signature"):
            return _around(None, task)
    function = functions_of(module).get(task.function)
    if isinstance(function, relax.Function) and task.function == MAIN:
        return module
    if not isinstance(function, tvm.tirx.PrimFunc) or not task.outputs:
        raise TaskError(
            "signature", "NoMain", f"The module has no Relax function called {task.function}."
        )
    with stage("signature"):
        return _around(function, task)


def _around(function: tvm.tirx.PrimFunc | None, task: RunModule) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    arguments = [
        relax.Var(
            f"argument_{place}",
            relax.TensorType(each.array.shape[1 if each.varies else 0 :], each.array.dtype),
        )
        for place, each in enumerate(task.arguments)
    ]
    results = [relax.TensorType(each.shape, each.dtype) for each in task.outputs]
    result = results if results[1:] else results[0]
    if function is None:
        call = relax.op.call_dps_packed(PYTHON_FUNCTION, arguments, result)
    else:
        name = "function" if task.function == MAIN else task.function
        callee = builder.add_func(function.with_attr("global_symbol", name), name)
        call = relax.op.call_tir(callee, arguments, result)
    with builder.function(MAIN, arguments):
        with builder.dataflow():
            output = builder.emit_output(builder.emit(call))
        builder.emit_func_output(output)
    return builder.get()


Values = npt.NDArray[np.generic]


class Arguments(NamedTuple):
    """What the function is given: in each call the next item of those arrays that vary."""

    arrays: tuple[Values, ...]
    varies: tuple[bool, ...]

    @property
    def calls(self) -> int:
        """Return how many calls there are to make."""
        pairs = zip(self.arrays, self.varies, strict=True)
        return min(len(array) for array, varies in pairs if varies)

    def of_call(self, number: int) -> list[Values]:
        """Return the arrays of one call."""
        pairs = zip(self.arrays, self.varies, strict=True)
        return [array[number] if varies else array for array, varies in pairs]


def unpack_arguments(task: RunModule) -> Arguments:
    """Return the arrays; at least one of them varies, all that do for as many calls."""
    arrays = tuple(unpack_array(each.array) for each in task.arguments)
    varies = tuple(each.varies for each in task.arguments)
    lengths = {
        len(array) if array.ndim else 0
        for array, has_axis in zip(arrays, varies, strict=True)
        if has_axis
    }
    if len(lengths) != 1 or 0 in lengths:
        raise FrameError("no calls, or arguments for different numbers of calls")
    return Arguments(arrays, varies)


def check_signature(module: tvm.IRModule, arguments: Arguments) -> None:
    """Raise TaskError unless `main` takes as many tensors as there are arguments, and they fit."""
    main = module[MAIN]
    values = arguments.of_call(0)
    if len(main.params) != len(values):
        message = f"main takes {len(main.params)} arguments instead of {len(values)}."
        raise TaskError("signature", "WrongArguments", message)
    for parameter, value in zip(main.params, values, strict=True):
        if not isinstance(parameter.ty, relax.TensorType):
            raise TaskError("signature", "NotATensor", "main takes something else than a tensor.")
        if not _fits(parameter.ty, value):
            message = f"main takes {parameter.ty}, the inputs are {value.dtype}{list(value.shape)}."
            raise TaskError("signature", "WrongInput", message)


def _fits(expected: Any, value: Values) -> bool:
    if str(expected.dtype) not in ("", "void", str(value.dtype)):
        return False
    if expected.ndim not in (-1, value.ndim):
        return False
    extents = expected.shape.values if isinstance(expected.shape, relax.ShapeExpr) else []
    pairs = zip(extents, value.shape, strict=False)
    return all(int(a) == b for a, b in pairs if isinstance(a, tvm.tirx.IntImm))
