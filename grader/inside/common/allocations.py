"""The pipeline that all functions of a submission are built by: TVM's own, and room for vectors.

Of a buffer that is only used by vectors of three numbers TVM makes one of such vectors, and
allocates 12 bytes for each; LLVM goes from one to the next by 16. What is stored in the last
quarter of the buffer then lies behind it, and may be chosen by who wrote the function: an honest
schedule that vectorizes by 13 destroyed its own memory. LLVM rounds a vector up to the next power
of two, which is less than twice its size, so that twice the room is enough.
"""

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.tirx import compilation_pipeline

PIPELINE = "grader.default"

ON_STACK_BYTES = 1024
"""A buffer of fewer bytes lies on the stack, where LLVM itself allocates it; a larger one lies in
TVM's workspace."""

SIZE_LIMIT = 2**30 - 1
"""Most bytes of one buffer: TVM computes sizes in 32 bits, also of one with twice the room."""

Pipeline = tuple[Any, Callable[[], Any], Callable[[], Any]]


def constant_size(buffer: Any) -> int | None:
    """Return how many items a buffer has, None where that is decided at run time."""
    size = 1
    for extent in buffer.shape:
        if not isinstance(extent, tirx.IntImm):
            return None
        size *= int(extent.value)
    return size


def item_bits(buffer: Any) -> int:
    """Return the size of a buffer's items, vectors among them, as TVM allocates them."""
    return max(8, int(buffer.dtype.bits)) * int(buffer.dtype.lanes)


def stack_bytes(buffer: Any) -> int | None:
    """Return how many bytes LLVM allocates for a buffer on the stack, None where TVM does.

    Those of the scopes "local" and "shared" never lie there, however small they are.
    """
    size = constant_size(buffer) if buffer.scope() in ("", "global") else None
    taken = None if size is None else size * item_bits(buffer) // 8
    return taken if taken is not None and taken < ON_STACK_BYTES else None


def pipeline(*guards: Any) -> Pipeline:
    """Return TVM's pipeline, and behind it passes that see what becomes machine code.

    TVM makes `(i << 28) % 5` a division towards zero, as it takes the shifted number for positive:
    the index -3 of 5 was none that a guard saw of the remainder itself. So intrinsics are lowered
    before, and not behind the room as TVM does.
    """
    lower, _, for_device = tirx.get_tir_pipeline("default")
    room = tvm.transform.module_pass(lambda module, _: with_room(module), opt_level=0)
    intrinsics, builtins = tirx.transform.LowerIntrin(), tirx.transform.LowerTVMBuiltin()
    for_host = tvm.ir.transform.Sequential([intrinsics, *guards, room, builtins])
    return lower, lambda: for_host, for_device


def with_room(module: tvm.IRModule) -> tvm.IRModule:
    """Return a lowered module in which buffers of odd vectors are as large as LLVM takes them."""
    functions = {
        variable: function.with_body(
            tvm_ffi.structural_map(function.body, (tirx.SeqStmt, _with_room))
        )
        if _has_odd_vectors(function.body)
        else function
        for variable, function in module.functions.items()
    }
    return tvm.IRModule(functions, attrs=module.attrs)


def _has_odd_vectors(body: Any) -> bool:
    stop = [(tirx.AllocBuffer, lambda each: tvm_ffi.VisitInterrupt() if _is_odd(each) else None)]
    return tvm_ffi.structural_walk(body, stop) is not None


def _is_odd(statement: Any) -> bool:
    """Say whether a statement allocates items that LLVM makes larger than TVM does."""
    if not isinstance(statement, tirx.AllocBuffer):
        return False
    bits = item_bits(statement.buffer)
    return bool(bits & (bits - 1)) and stack_bytes(statement.buffer) is None


def _with_room(sequence: Any) -> Any:
    """Return a row of statements; a buffer lives until the end of the row that allocates it."""
    row: list[Any] = []
    for each in sequence.seq:
        row.extend(_doubled(each) if _is_odd(each) else [each])
    return tirx.SeqStmt(row)


def _doubled(allocation: Any) -> list[Any]:
    """Return the allocation of twice as much, of which the buffer is the first half."""
    buffer = allocation.buffer
    first, *rest = buffer.shape
    room = tirx.decl_buffer(
        [first * 2, *rest], buffer.dtype, name=f"{buffer.name}_room", scope=buffer.scope()
    )
    data = tvm.ir.Call("tirx.buffer_data", [room], ret_ty=buffer.data.ty)
    return [tirx.AllocBuffer(room, allocation.annotations), tirx.DeclBuffer(buffer, data=data)]


compilation_pipeline.register_tir_pipeline(PIPELINE, pipeline)
