"""Loops whose iterations overlap are found, and no loop of an honest function is."""

# ruff: noqa: N803, N806

from __future__ import annotations

import importlib
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import tirx
from tvm.script import tirx as T  # noqa: N812

from grader.ir.facts import Finding
from grader.ir.read import read_module
from tests.ir.modules import save

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def races(function: Any) -> list[Finding]:
    """Return the races that are found in a function."""
    module = tvm.IRModule({"f": function.with_attr("global_symbol", "f")})
    return [each for each in read_module(save(module)).faults if each.code == "race"]


@T.prim_func(s_tir=True)
def axis_of_a_sum(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
    for k in T.parallel(64):
        for i in range(8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def axis_that_is_called_spatial(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
    for k in T.parallel(64):
        for i in range(8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def half_of_a_split_sum(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        for k0 in T.parallel(4):
            for k1 in range(16):
                with T.sblock("sum"):
                    vi = T.axis.spatial(8, i)
                    vk = T.axis.reduce(64, k0 * 16 + k1)
                    B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def fused_with_a_sum(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
    for f in T.parallel(512):
        with T.sblock("sum"):
            vi = T.axis.spatial(8, f // 64)
            vk = T.axis.reduce(64, f % 64)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def shared_scratch(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    scratch = T.alloc_buffer((1,), "float32")
    for i in T.parallel(8):
        scratch[0] = A[i]
        B[i] = scratch[0] + T.float32(1)


@T.prim_func(s_tir=True)
def scratch_used_behind_the_loop(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    scratch = T.sblock_alloc_buffer((1,), "float32")
    for i in T.parallel(8):
        with T.sblock("in"):
            vi = T.axis.spatial(8, i)
            scratch[0] = A[vi]
    with T.sblock("behind"):
        v = T.axis.spatial(1, 0)
        B[v] = scratch[0]


@T.prim_func(s_tir=True)
def neighbour_is_read(A: T.Buffer((9,), "float32")):
    for i in T.parallel(8):
        with T.sblock("shift"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi + 1]


@T.prim_func(s_tir=True)
def lanes_overlap(A: T.Buffer((9,), "float32")):
    for i in T.vectorized(8):
        with T.sblock("shift"):
            vi = T.axis.spatial(8, i)
            A[vi + 1] = A[vi]


@T.prim_func(s_tir=True)
def tiles_overlap_by_one(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.parallel(7):
        for j in range(10):
            with T.sblock("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi * 9 + vj] = A[vi * 9 + vj]


@T.prim_func(s_tir=True)
def once_in_a_condition(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.parallel(64):
        with T.sblock("store"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi]
            if vi == 63:
                B[0] = A[vi]


@T.prim_func(s_tir=True)
def by_a_part(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for k in T.parallel(8):
        with T.sblock("part"):
            vk = T.axis.spatial(8, k)
            P = T.match_buffer(B[0:8], (8,), "float32", offset_factor=1)
            for i in range(8):
                P[i] = P[i] + A[i, vk]


@T.prim_func(s_tir=True)
def by_a_remainder(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(64):
        with T.sblock("wrap"):
            vi = T.axis.spatial(64, i)
            B[vi % 16] = A[vi]


@T.prim_func(s_tir=True)
def by_contents(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.parallel(8):
        with T.sblock("scatter"):
            vi = T.axis.spatial(8, i)
            B[T.min(T.max(A[vi], 0), 7)] = 1


@T.prim_func(s_tir=True)
def of_any_extent(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for k in T.parallel(n):
        for i in range(n):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def in_a_large_loop(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096,), "float32")):
    for k in T.parallel(4096):
        for i in range(4096):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def of_a_huge_extent(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(T.int64(1000000000000)):
        B[i % T.int64(16)] = A[i % T.int64(16)]


@T.prim_func(s_tir=True)
def by_a_part_of_a_part(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for k in T.parallel(8):
        with T.sblock("part"):
            vk = T.axis.spatial(8, k)
            P = T.match_buffer(B[0:8], (8,), "float32", offset_factor=1)
            with T.sblock("inner"):
                Q = T.match_buffer(P[0:4], (4,), "float32", offset_factor=1)
                Q[0] = A[vk]
            B[vk] = A[vk]


@T.prim_func(s_tir=True)
def an_assertion_reads(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        B[i] = A[i]
        assert B[15 - i] >= T.float32(-1), "B"


@T.prim_func(s_tir=True)
def vectors_overlap(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.parallel(8):
        B[T.Ramp(i * 3, 1, 4)] = A[T.Ramp(i * 4, 1, 4)]


@T.prim_func(s_tir=True)
def lanes_beside_an_index_by_contents(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.vectorized(8):
        B[0] = A[i]
        B[A[i]] = A[i]


RACES = [
    lanes_beside_an_index_by_contents,
    axis_of_a_sum,
    axis_that_is_called_spatial,
    half_of_a_split_sum,
    fused_with_a_sum,
    shared_scratch,
    scratch_used_behind_the_loop,
    neighbour_is_read,
    lanes_overlap,
    tiles_overlap_by_one,
    once_in_a_condition,
    by_a_part,
    by_a_remainder,
    by_contents,
    of_any_extent,
    in_a_large_loop,
    of_a_huge_extent,
    by_a_part_of_a_part,
    an_assertion_reads,
    vectors_overlap,
]


@T.prim_func(s_tir=True)
def own_scratch(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.parallel(8):
        scratch = T.alloc_buffer((1,), "float32")
        scratch[0] = A[i]
        B[i] = scratch[0] + T.float32(1)


@T.prim_func(s_tir=True)
def scratch_that_tvm_moves(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    scratch = T.sblock_alloc_buffer((1,), "float32")
    for i in T.parallel(8):
        with T.sblock("in"):
            vi = T.axis.spatial(8, i)
            scratch[0] = A[vi]
        with T.sblock("out"):
            vi = T.axis.spatial(8, i)
            B[vi] = scratch[0]


@T.prim_func(s_tir=True)
def halves(A: T.Buffer((16,), "float32")):
    for i in T.parallel(8):
        with T.sblock("copy"):
            vi = T.axis.spatial(8, i)
            A[vi + 8] = A[vi]


@T.prim_func(s_tir=True)
def one_round_writes(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.parallel(8):
        with T.sblock("store"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
            if vi == 3:
                B[3] = T.float32(0)


@T.prim_func(s_tir=True)
def fused_and_uneven(A: T.Buffer((100,), "float32"), B: T.Buffer((10, 10), "float32")):
    for f in T.parallel(13):
        for j in T.vectorized(8):
            with T.sblock("copy"):
                T.where(f * 8 + j < 100)
                vi = T.axis.spatial(10, (f * 8 + j) // 10)
                vj = T.axis.spatial(10, (f * 8 + j) % 10)
                B[vi, vj] = A[vi * 10 + vj]


@T.prim_func(s_tir=True)
def two_at_a_time(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(0, 16, step=2):
        B[i] = A[i]
        B[i + 1] = A[i + 1]


@T.prim_func(s_tir=True)
def vectors_side_by_side(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.parallel(8):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)]


@T.prim_func(s_tir=True)
def backwards_by_bits(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        B[T.bitwise_not(i) + 16] = A[i]


@T.prim_func(s_tir=True)
def parts_of_parts(A: T.Buffer((8,), "float32"), B: T.Buffer((16,), "float32")):
    for k in T.parallel(8):
        with T.sblock("part"):
            vk = T.axis.spatial(8, k)
            P = T.match_buffer(B[vk * 2 : vk * 2 + 2], (2,), "float32", offset_factor=1)
            with T.sblock("inner"):
                Q = T.match_buffer(P[0:2], (2,), "float32", offset_factor=1)
                Q[0] = A[vk]
                Q[1] = A[vk]


@T.prim_func(s_tir=True)
def rows_by_the_loop_and_columns_by_contents(
    labels: T.Buffer((8,), "int32"), B: T.Buffer((8, 10), "float32")
):
    for i in T.parallel(8):
        for j in range(10):
            B[i, j] = T.float32(0)
        B[i, labels[i]] = T.float32(1)


@T.prim_func(s_tir=True)
def where_an_inner_loop_has_a_round(B: T.Buffer((2,), "float32")):
    for i in T.parallel(2):
        for _ in range(i):
            B[i] = B[0]


@T.prim_func(s_tir=True)
def never_by_contents(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.parallel(8):
        B[i] = A[i]
        if i > 8:
            B[A[i]] = A[i]


SEPARATE = [
    rows_by_the_loop_and_columns_by_contents,
    where_an_inner_loop_has_a_round,
    never_by_contents,
    own_scratch,
    scratch_that_tvm_moves,
    halves,
    one_round_writes,
    fused_and_uneven,
    two_at_a_time,
    vectors_side_by_side,
    backwards_by_bits,
    parts_of_parts,
]


@pytest.mark.parametrize("function", RACES, ids=lambda each: each.__name__)
def test_a_race_is_found(function: Any) -> None:
    assert 1 == len(races(function))


@pytest.mark.parametrize("function", SEPARATE, ids=lambda each: each.__name__)
def test_iterations_that_do_not_meet_are_none(function: Any) -> None:
    assert [] == races(function)


def many_stores(count: int) -> Any:
    """Return a function with so many stores in a parallel loop of 2^18 iterations."""
    variable = tirx.Var("i", "int32")
    buffer = tirx.decl_buffer((2**18,), "float32", "B")
    stores = [tirx.BufferStore(buffer, tirx.const(k, "float32"), [variable]) for k in range(count)]
    loop = tirx.For(variable, 0, 2**18, tirx.ForKind.PARALLEL, tirx.SeqStmt(stores))
    return tirx.PrimFunc([buffer], loop)


def many_axes(rank: int) -> Any:
    """Return a function that fills a buffer of so many axes, of two items each."""
    variables = [tirx.Var(f"i{axis}", "int32") for axis in range(rank)]
    buffer = tirx.decl_buffer((2,) * rank, "float32", "B")
    body = tirx.BufferStore(buffer, tirx.const(0, "float32"), variables)
    for variable in reversed(variables):
        body = tirx.For(variable, 0, 2, tirx.ForKind.PARALLEL, body)
    return tirx.PrimFunc([buffer], body)


@pytest.mark.parametrize("function", [many_stores(60), many_axes(23)], ids=["stores", "axes"])
def test_no_function_decides_how_much_memory_it_takes(function: Any) -> None:
    tracemalloc.start()
    try:
        assert [] == races(function)
        assert 300 * 2**20 > tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@T.prim_func(s_tir=True)
def beyond_its_buffer(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
    for k in T.parallel(64):
        for i in range(8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                B[vi] = B[vi] + A[vi, vk + 1]


def test_an_index_that_leaves_its_buffer_hides_none() -> None:
    """Whoever raced earned nothing, and with such an index more all but the outputs."""
    assert races(beyond_its_buffer)


def test_it_names_the_loop_and_the_buffer() -> None:
    (found,) = races(scratch_used_behind_the_loop)
    assert (
        "In the function `f`, several iterations of the parallel loop `i` write the same elements"
        " of the buffer `scratch`." == found.message.english
    )


def test_no_honest_module_has_one(honest: dict[str, bytes]) -> None:
    found = {name: read_module(each, ("env.*",)).findings for name, each in honest.items()}
    assert {} == {name: each for name, each in found.items() if each}


def test_no_random_schedule_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """TVM refuses a parallel loop over an axis of a sum: what it lets pass has no race.

    But for `reverse_compute_at` of a producer behind what reads it (seed 4): that is wrong anyway.
    """
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    drawn = importlib.import_module("random_schedules")
    found = [
        (name, steps)
        for name in drawn.COMPUTATIONS
        for module, steps in drawn.schedules(name, 15, 3)
        if any(each.code == "race" for each in read_module(save(module)).findings)
    ]
    assert [] == found
