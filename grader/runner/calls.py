"""The Relax `main` that is put around what has none: a TIR function, or a Python function.

So everything that is run is run by the virtual machine, which fills outputs with poison, counts
calls and names what was never written.
"""

from __future__ import annotations

import tvm
from tvm import relax

from grader.messages import PYTHON_FUNCTION, RunModule, TensorSpec
from grader.runner.failure import TaskError, stage

MAIN = "main"


def module_to_run(module: tvm.IRModule | None, task: RunModule) -> tvm.IRModule:
    """Return a module whose Relax `main` takes the task's arguments and returns its outputs.

    None stands for a task's Python function. Raises TaskError when there is no such function.
    """
    if module is None:
        with stage("signature"):
            return _around(tvm.IRModule({}), relax.ExternFunc(PYTHON_FUNCTION), task)
    function = _find(module, task.function)
    if isinstance(function, relax.Function) and task.function == MAIN:
        return module
    if not isinstance(function, tvm.tirx.PrimFunc) or not task.outputs:
        raise TaskError(
            "signature", "NoMain", f"The module has no Relax function called {task.function}."
        )
    with stage("signature"):
        alone = tvm.IRModule({"function": function.with_attr("global_symbol", "function")})
        return _around(alone, alone.get_global_var("function"), task)


def _find(module: tvm.IRModule, name: str) -> object:
    return {var.name_hint: function for var, function in module.functions.items()}.get(name)


def _around(module: tvm.IRModule, callee: object, task: RunModule) -> tvm.IRModule:
    """Return the module with a `main` that is one call of `callee` in destination-passing style."""
    arguments = [
        relax.Var(
            f"argument_{place}",
            relax.TensorType(each.array.shape[1 if each.varies else 0 :], each.array.dtype),
        )
        for place, each in enumerate(task.arguments)
    ]
    results = [_type(each) for each in task.outputs]
    builder = relax.BlockBuilder(module)
    with builder.function(MAIN, arguments):
        with builder.dataflow():
            call = (
                relax.op.call_dps_packed
                if isinstance(callee, relax.ExternFunc)
                else relax.op.call_tir
            )
            result = builder.emit(call(callee, arguments, results if results[1:] else results[0]))
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return builder.get()


def _type(spec: TensorSpec) -> relax.TensorType:
    return relax.TensorType(spec.shape, spec.dtype)
