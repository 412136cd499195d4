"""ReplayTrace and CompareTarget: a trace applied again, and where it is to arrive.

The trace and the modules were read by the referee, against its allow-lists; they are a student's
still, and this process has nothing that they could want.

The target is made by the course's workload before the student's module is loaded. The answer is
TVM's own, the one that `assert_structural_equal` would give in a notebook, with what does not make
a schedule left out: names, the functions' attributes, and what blocks declare to read and write.
"""

from __future__ import annotations

import json
from typing import Any

import tvm
import tvm_ffi

from grader.inside.common.failure import TaskError, shorten, stage
from grader.inside.common.modules import load_module, take_function
from grader.inside.common.workload import load_workload
from grader.messages import SCRIPT_LIMIT, CompareTarget, ReplayResult, ReplayTrace, TargetResult

_ERROR = "ScheduleError: "


def replay_trace(task: ReplayTrace) -> ReplayResult:
    """Do the task. Raises TaskError where one of the documents cannot be loaded."""
    with stage("decode"):
        trace = json.loads(task.trace)
    with stage("load"):
        base, expected = load_module(task.base), load_module(task.expected)
    try:
        result = apply_trace(base, trace)
    except TaskError as error:
        return ReplayResult("fails", message=shorten(error.message.removeprefix(_ERROR)))
    modules = tuple(apply_to_document(document, trace) for document in task.others)
    differing = differing_functions(result, expected)
    if differing or not tvm_ffi.structural_equal(result, expected):
        return ReplayResult("differs", functions=differing, modules=modules)
    before, after = (script_of(module, task.function) for module in (base, result))
    return ReplayResult("equal", modules=modules, before=before, after=after)


def apply_trace(module: tvm.IRModule, trace: list[Any]) -> tvm.IRModule:
    """Return the module that a trace makes of another one, each step checked. Raises TaskError."""
    with stage("run"):
        schedule = tvm.s_tir.Schedule(module, error_render_level="fast")
        tvm.s_tir.schedule.Trace.apply_json_to_schedule(trace, schedule)
        return schedule.mod


def apply_to_document(document: bytes, trace: list[Any]) -> bytes:
    """Return what a trace makes of a module, both as graph JSON; empty where it fails."""
    with stage("load"):
        module = load_module(document)
    try:
        result = apply_trace(module, trace)
    except TaskError:
        return b""
    saved: str = tvm.ir.save_json(result)
    return saved.encode()


def script_of(module: tvm.IRModule, name: str) -> str:
    """Return a function of a module as TVMScript, cut where it is too long.

    Empty where there is no such function, or TVM cannot print it: it explains, it proves nothing.
    """
    function = _by_name(module).get(name)
    if function is None:
        return ""
    try:
        script = str(function.script())  # TVM's own kind of text is in no message
    except Exception:  # noqa: BLE001  TVM raises what it likes on an odd program
        return ""
    return cut(script, SCRIPT_LIMIT)


def cut(text: str, length: int) -> str:
    """Return a text of at most so many characters; one that is cut ends in an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def differing_functions(one: tvm.IRModule, other: tvm.IRModule) -> tuple[str, ...]:
    """Return the names of the functions that are not the same, or not there, in two modules."""
    left, right = _by_name(one), _by_name(other)
    return tuple(
        name
        for name in sorted({*left, *right})
        if name not in left
        or name not in right
        or (_is_prim(left[name]) and not tvm_ffi.structural_equal(left[name], right[name]))
    )


def _by_name(module: tvm.IRModule) -> dict[str, Any]:
    return {str(variable.name_hint): function for variable, function in module.functions.items()}


def _is_prim(function: Any) -> bool:
    """Say whether a function can be compared by itself: it refers to no other one."""
    return isinstance(function, tvm.tirx.PrimFunc)


def compare_target(task: CompareTarget) -> TargetResult:
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
