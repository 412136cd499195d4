"""Modules: those of TVM, of documents that the referee has read, and the workload of a course."""

import functools
from types import ModuleType
from typing import Any

import tvm
import tvm_ffi

from grader.inside.common.failure import TaskError


def load_module(document: bytes) -> tvm.IRModule:
    """Load TVM's graph JSON. Raises TypeError when it is something else than a module.

    What is loaded is what the referee has read, to the letter. `tvm.ir.load_json` first rewrites
    it, for documents of older versions, of which there are none here; that takes three quarters of
    the time, a twentieth of a second for a network with its weights, several times in a grading.
    """
    module = tvm_ffi.serialization.from_json_graph_str(document.decode())
    if not isinstance(module, tvm.IRModule):
        raise TypeError("the JSON holds something else than an IRModule")
    return module


def functions_of(module: tvm.IRModule) -> dict[str, Any]:
    """Return the functions of a module by their names."""
    return {str(variable.name_hint): function for variable, function in module.functions.items()}


def with_function(module: tvm.IRModule, name: str, function: Any) -> tvm.IRModule:
    """Return a copy of a module in which another function has a name."""
    copied = module.clone()
    copied.update_func(module.get_global_var(name), function)
    return copied


def nodes_of(root: Any, *kinds: Any) -> list[Any]:
    """Return the nodes of some kinds in a module, a function, a statement or an expression."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, [(kind, found.append) for kind in kinds], order="pre")
    return found


_LOOP = ("loop_var", "min", "extent", "kind", "body", "thread_binding", "annotations", "step")
"""What a loop has, in the order of its constructor."""


def changed_loop(loop: Any, **changes: Any) -> Any:
    """Return a loop with other values for some of what it has."""
    return tvm.tirx.For(*(changes.get(name, getattr(loop, name)) for name in _LOOP))


def key_of(node: Any) -> int:
    """Return what two references to the same node have in common."""
    return int(node.__chandle__())


def take_function(module: tvm.IRModule, name: str) -> Any:
    """Return a PrimFunc of a module by its name. Raises TaskError."""
    function = functions_of(module).get(name)
    if not isinstance(function, tvm.tirx.PrimFunc):
        raise TaskError("signature", "NoFunction", f"The module has no TIR function {name}.")
    return function


@functools.lru_cache(maxsize=1)
def load_workload(text: str) -> ModuleType:
    """Execute the course's own workload; it defines VARIANTS, `baseline` and `reference`.

    Once in a process: an intrinsic that it makes known to TVM is refused the second time, and what
    was compiled ahead could not be timed.
    """
    workload = ModuleType("workload")
    exec(compile(text, "workload.py", "exec"), workload.__dict__)  # noqa: S102 - course code
    return workload
