"""There is room for vectors that LLVM makes larger than TVM allocates them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import tirx as T  # noqa: N812

from grader.inside.common.allocations import PIPELINE, item_bits, pipeline, with_room


def copied_by_vectors(count: int, lanes: int, dtype: str = "float32", scope: str = "global") -> Any:
    """Return a function that copies by way of a buffer of so many vectors."""

    @T.prim_func(s_tir=True)
    def function(x: T.Buffer((count, lanes), dtype), y: T.Buffer((count, lanes), dtype)):
        local = T.sblock_alloc_buffer((count, lanes), dtype, scope=scope)
        with T.sblock("all"):
            for i in range(count):
                for lane in T.vectorized(lanes):
                    local[i, lane] = x[i, lane]
            for i in range(count):
                for lane in T.vectorized(lanes):
                    y[i, lane] = local[i, lane]

    return function.with_attr("global_symbol", "main")


def allocated(function: Any) -> list[tuple[int, int, int]]:
    """Return the buffers of the built program: items, bits of each, and bytes of the allocation."""
    lower, _, _ = pipeline()
    target = tvm.target.Target("llvm", host="llvm")
    module = tirx.transform.BindTarget(target)(tvm.IRModule({"main": function}))
    [built] = with_room(lower(module)).functions.values()
    rooms: dict[Any, Any] = {}

    def declare(statement: Any) -> None:
        source = statement.data
        is_name = getattr(getattr(source, "op", None), "name", "") == "tirx.buffer_data"
        if is_name and source.args[0] in rooms:
            rooms[statement.buffer] = rooms.pop(source.args[0])

    tvm_ffi.structural_walk(
        built.body,
        (
            (tirx.AllocBuffer, lambda each: rooms.update({each.buffer: each.buffer})),
            (tirx.DeclBuffer, declare),
        ),
        order="pre",
    )
    return [
        (int(used.shape[0]), item_bits(used), int(room.shape[0]) * item_bits(room) // 8)
        for used, room in rooms.items()
    ]


@pytest.mark.parametrize("lanes", [3, 5, 7, 13, 26])
def test_a_buffer_of_odd_vectors_has_what_llvm_takes(lanes: int) -> None:
    [(items, bits, size)] = allocated(copied_by_vectors(4000, lanes))
    assert (4000, 32 * lanes) == (items, bits)
    assert size >= items * 2 ** (bits - 1).bit_length() // 8


@pytest.mark.parametrize(("count", "lanes"), [(4000, 4), (4000, 1), (20, 3)])
def test_any_other_has_what_it_asks_for(count: int, lanes: int) -> None:
    """Few vectors are on the stack, where LLVM allocates them."""
    [(items, bits, size)] = allocated(copied_by_vectors(count, lanes))
    assert items * bits // 8 == size


@pytest.mark.parametrize("scope", ["local", "shared"])
def test_a_small_one_that_is_never_on_the_stack_has_it_too(scope: str) -> None:
    [(items, bits, size)] = allocated(copied_by_vectors(20, 3, scope=scope))
    assert size >= items * 2 ** (bits - 1).bit_length() // 8


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize(("count", "lanes"), [(4000, 3), (300, 7), (999, 26), (20, 3), (86, 3)])
def test_the_results_are_right(count: int, lanes: int, dtype: str) -> None:
    compiled = tvm.compile(copied_by_vectors(count, lanes, dtype), "llvm", tir_pipeline=PIPELINE)
    values = np.arange(count * lanes).reshape(count, lanes).astype(dtype)
    result = tvm.runtime.tensor(np.zeros_like(values))
    compiled.mod["main"](tvm.runtime.tensor(values), result)
    assert np.array_equal(values, result.numpy())
