"""What machine code does outside of its buffers, guards see: of programs that were written to
deceive, that TVM translates wrongly, and that are drawn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import pytest
import tvm
from hypothesis import HealthCheck, Phase, given, settings
from tvm.script import tirx as T  # noqa: N812

from grader.errors import IRError
from grader.evidence.problems import FAULTS
from grader.inside.common.allocations import PIPELINE
from grader.ir.read import read_module
from tests.inside.common.guarded import UncompiledError, hold
from tests.ir.modules import save
from tests.ir.programs import LONG_TYPES, divisions, programs

# ruff: noqa: N803, N806

DRAWN = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.generate],
)


def seen(function: Any) -> str:
    """Return what guards see of a function."""
    held = hold(tvm.IRModule({"f": function.with_attr("global_symbol", "f")}))
    assert "" == held.missed
    return held.seen


@T.prim_func(s_tir=True)
def shifted_out(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[T.min(T.max(T.q_multiply_shift(i, 3, 31, 200), 0), 15)] = T.float32(1)


@T.prim_func(s_tir=True)
def multiplied_and_added(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[T.min(T.max(T.fma(i * 2**20, i * 2**20, 7), 0), 15)] = T.float32(1)


@T.prim_func(s_tir=True)
def after_a_contradiction(A: T.Buffer((16,), "float32")):
    for i in range(16):
        if i > 20:
            A[i * 100] = T.float32(0)
        A[i + 1] = T.float32(0)


@T.prim_func(s_tir=True)
def part_of_a_part(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("b"):
            P = T.match_buffer(A[0:16], (16,), "float32", offset_factor=1)
            Q = T.match_buffer(P[4:12], (8,), "float32", offset_factor=1)
            Q[i] = T.float32(0)


@T.prim_func(s_tir=True)
def below_zero_without_a_sign(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[T.Cast("int32", (T.Cast("uint32", i) - T.uint32(3)) % T.uint32(16))] = T.float32(0)


@T.prim_func(s_tir=True)
def shifted_by_a_negative(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i >> (-1 - i)] = T.float32(0)


@T.prim_func(s_tir=True)
def either_of_two(A: T.Buffer((16,), "float32")):
    for i, j in T.grid(32, 32):
        if i < 16 or j < 16:
            A[i] = T.float32(0)


@T.prim_func(s_tir=True)
def not_both(A: T.Buffer((16,), "float32")):
    for i, j in T.grid(32, 32):
        if not (i < 16 and j < 16):
            A[31 - i] = T.float32(0)


@T.prim_func(s_tir=True)
def masked_by_a_negative(A: T.Buffer((16,), "float32")):
    for i in range(64):
        A[(i - 32) & (i - 40)] = T.float32(0)


@T.prim_func(s_tir=True)
def two_truths(A: T.Buffer((2,), "float32")):
    for i in range(64):
        A[T.Cast("int32", i < 3) + T.Cast("int32", i < 5)] = T.float32(0)


@T.prim_func(s_tir=True)
def end_of_a_vector(A: T.Buffer((16,), "float32")):
    for i in range(4):
        for j in T.vectorized(8):
            A[i * 4 + j] = T.float32(0)


@T.prim_func(s_tir=True)
def stale_load(A: T.Buffer((16,), "float32")):
    place = T.alloc_buffer((1,), "int32")
    for i in range(16):
        place[0] = i
        if place[0] < 16:
            place[0] = 99
            A[place[0]] = T.float32(0)


@T.prim_func(s_tir=True)
def named_and_halved(A: T.Buffer((16,), "float32")):
    for i in range(16):
        twice: T.let[T.int32] = i * 2
        A[twice // 2] = T.float32(0)
        A[twice] = T.float32(0)


# TVM takes the divided numbers for positive ones, and divides them towards zero.


@T.prim_func(s_tir=True)
def narrowed_below_zero(A: T.Buffer((5,), "float32")):
    for i in range(16):
        A[T.Cast("int32", T.Cast("int64", i) * T.int64(2**28)) % 5] = T.float32(0)


@T.prim_func(s_tir=True)
def shifted_below_zero(A: T.Buffer((5,), "float32")):
    for i in range(16):
        A[(i << 28) % 5] = T.float32(0)


@T.prim_func(s_tir=True)
def wrapped_below_zero(A: T.Buffer((5,), "float32")):
    for i in range(100):
        A[T.Cast("int32", T.Cast("int8", i) * T.Cast("int8", 2) % T.Cast("int8", 5))] = T.float32(0)


@T.prim_func(s_tir=True)
def believed(A: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((1000,), "float32")
    for i in range(16):
        with T.sblock("write"):
            v = T.axis.spatial(16, i)
            B[v] = A[v]
    for i in range(16):
        with T.sblock("read"):
            v = T.axis.spatial(16, i)
            T.reads(B[0:2])
            T.writes(A[v])
            T.sblock_attr({"explicit_read_region": [0]})
            A[v] = B[v + 500]


WILD = {
    "index of A": (
        after_a_contradiction,
        part_of_a_part,
        either_of_two,
        not_both,
        masked_by_a_negative,
        two_truths,
        end_of_a_vector,
        stale_load,
        named_and_halved,
        narrowed_below_zero,
        shifted_below_zero,
        wrapped_below_zero,
    ),
    "index of B": (believed,),
    "overflow of ": (below_zero_without_a_sign, shifted_by_a_negative, shifted_out),
    "unguarded of a number that is no integer": (multiplied_and_added,),
}


@pytest.mark.parametrize(
    ("what", "function"),
    [
        pytest.param(what, each, id=str(each.attrs["global_symbol"]))
        for what, functions in WILD.items()
        for each in functions
    ],
)
def test_a_guard_sees(what: str, function: Any) -> None:
    assert f"f: {what}" == seen(function)


# --- what TVM translates wrongly ------------------------------------------------------------------


def index_of(iterator: Callable[[Any], Any], index: Callable[[Any], Any], size: int) -> Any:
    """Return B[j] = local[index(iterator(j))], where the iterator is a block's and below 40."""

    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((size,), "int32"), B: T.Buffer((8,), "int32")):
        local = T.sblock_alloc_buffer((size,), "int32")
        for k in range(size):
            with T.sblock("copy"):
                vk = T.axis.spatial(size, k)
                local[vk] = A[vk]
        for j in range(8):
            with T.sblock("take"):
                vj = T.axis.spatial(8, j)
                vm = T.axis.opaque(40, iterator(j))
                B[vj] = local[index(vm)]

    return tvm.IRModule({"f": f.with_attr("global_symbol", "f")})


WRONG = {
    "negative modulus": (lambda j: j % -4 + 4, lambda m: m * 8 - m // 4 * 31, 27),
    "shifted remainder": (lambda j: j % 2 + 1, lambda m: m * -7 + m % 2 * 8 + 18, 51),
    "negative divisor": (lambda j: j // -2 + 8, lambda m: m // 4 + m, 40),
    "truncated modulus": (lambda j: T.truncmod(j, -4) + 4, lambda m: m + 1, 40),
    "truncated divisor": (lambda j: T.truncdiv(j, -4) + 4, lambda m: m + 1, 40),
    "divisor by a minimum": (lambda j: j % T.min(j - 9, -4) + 16, lambda m: m, 40),
    "divisor by a maximum": (lambda j: j % T.max(-4, -5) + 16, lambda m: m, 40),
    "divisor by a shift": (lambda j: j % ((j - 8) >> 1) + 16, lambda m: m, 40),
    "divisor by a choice": (
        lambda j: j % T.if_then_else(j < 4, -4, 4) + 16,
        lambda m: m,
        40,
    ),
    "divisor in the index": (lambda j: j, lambda m: m % -4 + 4, 40),
    "divisor in a divisor": (lambda j: j + 1, lambda m: 16 // (m % -16), 40),
    "divisor that may be 0": (lambda j: j, lambda m: 7 // m, 40),
}


def loops_of(
    first: tuple[int, int],
    inner: Callable[[Any], tuple[Any, Any]],
    offset: Callable[[Any], Any] = lambda i: i,
) -> Any:
    """Return B[j] = A[j] in two loops: over a range, and from and to what its variable gives."""
    low, high = first

    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(low, high):
            for k in range(2):
                for j in range(inner(offset(i) + k)[0], inner(offset(i) + k)[1]):
                    B[j] = A[j]

    return tvm.IRModule({"f": f.with_attr("global_symbol", "f")})


MOVED = {
    "begins at another's variable": loops_of((4, 6), lambda i: (i - 4, i)),
    "ends at another's variable": loops_of((8, 12), lambda i: (1, i)),
    "begins far from another's": loops_of((64, 66), lambda i: (i - 64, i - 62)),
}


@pytest.mark.parametrize("module", [*(index_of(*each) for each in WRONG.values()), *MOVED.values()])
def test_nothing_is_missed_of_what_tvm_computes_wrongly(module: Any) -> None:
    assert "" == hold(module).missed


def test_a_negative_modulus_leaves_the_buffer_as_machine_code() -> None:
    """It read item -23 of 27."""
    assert "f: index of local" == hold(index_of(*WRONG["negative modulus"])).seen


def test_a_loop_that_is_moved_leaves_the_buffer_as_machine_code() -> None:
    """TVM counts loops from 0, and does not say so to the bounds of loops within them: it read item
    -64 of 16."""
    assert "f: index of A" == hold(MOVED["begins far from another's"]).seen


# --- what is drawn --------------------------------------------------------------------------------


@DRAWN
@given(programs(LONG_TYPES))
def test_nothing_is_missed_of_any_program(module: Any) -> None:
    miss_nothing(module)


@DRAWN
@given(divisions())
def test_nothing_is_missed_of_any_division(module: Any) -> None:
    miss_nothing(module)


def miss_nothing(module: Any) -> None:
    """Hold guards to a program that the referee would run, and to what it knows to be wrong."""
    with suppress(IRError, UncompiledError):
        unguarded = read_module(save(module)).functions["f"].unguarded
        if unguarded is None or unguarded.code in FAULTS:
            assert "" == hold(module).missed


def beyond() -> Any:
    """Return a module whose function writes behind its array."""

    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i * i // (i + 1) + 2] = T.float32(1)

    return tvm.IRModule({"f": f.with_attr("global_symbol", "f")})


def test_what_a_blind_guard_misses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is held here can be seen at all."""
    assert "f: index of A" == hold(beyond()).seen
    blind = lambda _: nullcontext(PIPELINE)  # noqa: E731
    monkeypatch.setattr("tests.inside.common.guarded.Guards.building", blind)
    assert "argument 0: written beside it" == hold(beyond()).missed
