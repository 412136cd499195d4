"""ReplayTrace: a trace applied again.

The trace and the modules were read by the referee, against its allow-lists; they are a student's
still, and this process has nothing that they could want.
"""

import json
from typing import Any

import tvm
import tvm_ffi

from grader.inside.common.failure import TaskError, shorten, stage
from grader.inside.common.modules import functions_of, load_module
from grader.messages.runner import SCRIPT_LIMIT, ReplayResult, ReplayTrace

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


def beginning(trace: list[Any], count: int) -> list[Any]:
    """Return the first so many instructions of a trace, with their decisions."""
    instructions, decisions = trace
    return [instructions[:count], [each for each in decisions if each[0] < count]]


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
    function = functions_of(module).get(name)
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
    left, right = functions_of(one), functions_of(other)
    return tuple(
        name
        for name in sorted({*left, *right})
        if name not in left
        or name not in right
        or (_is_prim(left[name]) and not tvm_ffi.structural_equal(left[name], right[name]))
    )


def _is_prim(function: Any) -> bool:
    """Say whether a function can be compared by itself: it refers to no other one."""
    return isinstance(function, tvm.tirx.PrimFunc)
