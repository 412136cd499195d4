"""One compiled function, callable many times in a row without Python in between.

A function of 5 us cannot be timed from a Python loop. So each is called from a loop that is
compiled as well: a function `block(*arrays, output, *ledger, first, calls)` that calls it `calls`
times, each time on the next input of the ring, and always into the same output buffer. A call then
finds the answer to another input in its output: one that skips its work because the output has been
written ends the block with a wrong output, which the referee sees. What is written down of each
call is in `grader.inside.runner.arena`.
"""

from __future__ import annotations

import math
from typing import Any

import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T  # noqa: N812 - TVM's own name for it

from grader.inside.runner.allocations import PIPELINE
from grader.inside.runner.arena import TABLE, Arena
from grader.inside.runner.guards import Guards
from grader.inside.runner.signature import OUTPUT, Signature

_PREFIX = "grader.timed."
MAIN, BLOCK = "main", "block"
"""The function and its loop in what is compiled: together, as half of what it takes to compile
either is the same for any number of functions."""


class Kernel:
    """A function compiled for `target`, called on the arrays of an arena.

    `name` is unique among the kernels of this process. With `guards` every access of the function
    is checked. Raises whatever TVM raises while compiling.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        signature: Signature,
        arena: Arena,
        target: Any,
        guards: Guards | None = None,
    ) -> None:
        function = function.with_attr("global_symbol", MAIN)
        block = _block(_PREFIX + name, signature, arena)
        if guards is None:
            compiled = _compile({MAIN: function, BLOCK: block}, target)
            self._block = compiled[BLOCK]
        else:
            with guards.building() as pipeline:
                compiled = _compile({MAIN: function}, target, pipeline)
            self._block = _compile({BLOCK: block}, target)[BLOCK]
        tvm.register_global_func(_PREFIX + name, compiled[MAIN], override=True)
        self._arena = arena

    def __call__(self, first: int, calls: int) -> None:
        """Call the function `calls` times, on the ring's inputs from `first` on."""
        pointers = (self._arena.pointers[role] for role in self._arena.shapes)
        ledger = self._arena.ledger
        self._block(ledger.count, *pointers, *ledger.pointers, first, calls)


def _compile(functions: dict[str, Any], target: Any, pipeline: str = PIPELINE) -> Any:
    return tvm.compile(tvm.IRModule(functions), target, tir_pipeline=pipeline).mod


def _block(callee: str, signature: Signature, arena: Arena) -> Any:
    """Return the loop as a PrimFunc; `callee` is the registered name of the function to call.

    Of all arrays but one it takes pointers: what checks a whole tensor takes time to compile, and
    the arena is our own. The one tells for which device the arrays of the calls are made.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name(BLOCK)
        items = (math.prod(arena.shapes[OUTPUT]),)
        shapes = {**arena.shapes, arena.first: (arena.ring, arena.row), OUTPUT: items}
        count = T.arg("count", T.Buffer((1,), "int64"))
        dtypes, tables = arena.dtypes, arena.ledger.tables
        of_roles = [T.arg(role, T.handle(dtypes[role])) for role in shapes]
        of_ledger = [T.arg(name, T.handle(dtype)) for name, (_, dtype) in tables.items()]
        first = T.arg("first", T.int32())
        calls = T.arg("calls", T.int32())
        buffers = {
            role: T.decl_buffer(shape, dtypes[role], data=pointer)
            for (role, shape), pointer in zip(shapes.items(), of_roles, strict=True)
        }
        places, numbers, slots = (
            T.decl_buffer((length,), dtype, data=pointer)
            for (length, dtype), pointer in zip(tables.values(), of_ledger, strict=True)
        )
        output = buffers[OUTPUT]
        with T.serial(0, calls) as index:
            row = (first + index) % arena.ring
            arguments = [
                _array(
                    T.address_of(buffers[role][row, 0])
                    if role == arena.first
                    else buffers[role].data,
                    arena.shapes[role],
                    dtypes[role],
                )
                for role in signature.roles
            ]
            entry = index % TABLE
            T.buffer_store(output, numbers[entry], [places[entry]])
            T.evaluate(T.call_packed(callee, *arguments))
            T.buffer_store(slots, output[places[entry]], [index])
            T.buffer_store(count, count[0] + T.int64(1), [0])
    return builder.get()


def _array(address: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Return a dense array on the stack that points to `address`."""
    extents = T.tvm_stack_make_shape(*shape, dtype="handle")
    no_strides, no_offset, item = 0, 0, tvm.tirx.const(0, dtype)
    return T.tvm_stack_make_array(
        address, extents, no_strides, len(shape), item, no_offset, dtype="handle"
    )
