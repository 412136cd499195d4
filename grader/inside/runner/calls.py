"""The Relax `main` that is put around what has none: a TIR function, or a Python function.

So everything that is run is run by the virtual machine, which fills outputs with poison, counts
calls and names what was never written.
"""

from __future__ import annotations

import tvm
from tvm import relax

from grader.inside.common.failure import TaskError, stage
from grader.messages import PYTHON_FUNCTION, RunModule, TensorSpec

MAIN = "main"


def module_to_run(module: tvm.IRModule | None, task: RunModule) -> tvm.IRModule:
    """Return a module whose Relax `main` takes the task's arguments and returns its outputs.

    None stands for a task's Python function. Raises TaskError when there is no such function.
    """
    if module is None:
        with stage("signature"):
            return _around(None, task)
    function = _find(module, task.function)
    if isinstance(function, relax.Function) and task.function == MAIN:
        return module
    if not isinstance(function, tvm.tirx.PrimFunc) or not task.outputs:
        raise TaskError(
            "signature", "NoMain", f"The module has no Relax function called {task.function}."
        )
    with stage("signature"):
        return _around(function, task)


def _find(module: tvm.IRModule, name: str) -> object:
    return {var.name_hint: function for var, function in module.functions.items()}.get(name)


def _around(function: tvm.tirx.PrimFunc | None, task: RunModule) -> tvm.IRModule:
    """Return a module whose `main` is one call, of a TIR function or of the Python function."""
    builder = relax.BlockBuilder()
    arguments = [
        relax.Var(
            f"argument_{place}",
            relax.TensorType(each.array.shape[1 if each.varies else 0 :], each.array.dtype),
        )
        for place, each in enumerate(task.arguments)
    ]
    results = [_type(each) for each in task.outputs]
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


def _type(spec: TensorSpec) -> relax.TensorType:
    return relax.TensorType(spec.shape, spec.dtype)
