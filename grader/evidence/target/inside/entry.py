"""CompareTarget: the course's target beside a student's function.

The target is made by the course's workload before the student's module is loaded. The answer is
TVM's own, the one that `assert_structural_equal` would give in a notebook, with what does not make
a schedule left out: names, the functions' attributes, and what blocks declare to read and write.
"""

from typing import Any

import tvm
import tvm_ffi

from grader.evidence.target.messages import Answer, TargetResult, Task
from grader.inside.common.failure import TaskError, shorten, stage
from grader.inside.common.modules import load_module, load_workload, take_function


def perform(task: Task) -> Answer:
    """Do the task. Raises TaskError."""
    with stage("time"):
        target = load_workload(task.workload).target()
        wanted = only_function(target)
        document: str = tvm.ir.save_json(target)
    with stage("load"):
        module = load_module(task.module)
    function = take_function(module, task.function)
    with stage("run"):
        mismatch = tvm_ffi.get_first_structural_mismatch(
            simplify(wanted), simplify(function), map_free_vars=True
        )
    place = "" if mismatch is None else shorten(str(mismatch[1]))
    return TargetResult(mismatch is None, document.encode(), place)


def only_function(module: tvm.IRModule) -> Any:
    """Return the PrimFunc of a target. Raises TaskError unless there is just one function."""
    functions = list(module.functions.values())
    if len(functions) != 1 or not isinstance(functions[0], tvm.tirx.PrimFunc):
        raise TaskError("time", "NoTarget", "target() returns something else than one PrimFunc.")
    return functions[0]


def simplify(function: Any) -> Any:
    """Return a PrimFunc without its attributes, its blocks without what they say they touch."""
    for name in list(function.attrs.keys()) if function.attrs is not None else []:
        function = function.without_attr(name)
    body = tvm_ffi.structural_map(function.body, (tvm.s_tir.SBlock, _without_regions))
    return function.with_body(body)


def _without_regions(block: Any) -> Any:
    return tvm.s_tir.SBlock(
        iter_vars=block.iter_vars,
        reads=[],
        writes=[],
        name_hint=block.name_hint,
        body=block.body,
        init=block.init,
        alloc_buffers=block.alloc_buffers,
        match_buffers=block.match_buffers,
        annotations=block.annotations,
    )
