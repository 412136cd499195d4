"""Functions proven to stay inside their buffers stay inside them as machine code."""

# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import tvm
from hypothesis import HealthCheck, Phase, given, settings
from tvm.script import tirx as T  # noqa: N812

from grader.errors import IRError
from grader.ir.facts import FunctionFacts
from grader.ir.read import read_module
from tests.ir.compiled import UncompiledError, find_wild_access
from tests.ir.modules import save
from tests.ir.programs import LONG_TYPES, Divided, divisions, programs

DRAWN = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.generate],
)


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


def facts(module: Any) -> FunctionFacts:
    """Return what the referee reads of the function."""
    return read_module(save(module)).functions["f"]


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


@pytest.mark.parametrize("name", WRONG)
def test_what_tvm_may_compute_wrongly_is_not_proven(name: str) -> None:
    unproven = facts(index_of(*WRONG[name])).unproven
    assert unproven is not None
    assert unproven.code in ("unproven-division", "unproven-index", "unproven-iterator")


def test_a_negative_modulus_leaves_the_buffer_as_machine_code() -> None:
    """So what is held here can be seen at all: it read item -23 of 27."""
    assert "f: index of local" == find_wild_access(index_of(*WRONG["negative modulus"]))


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


@pytest.mark.parametrize("name", MOVED)
def test_what_tvm_counts_from_another_number_is_not_proven(name: str) -> None:
    """TVM counts loops from 0, and does not say so to the bounds of loops within them."""
    unproven = facts(MOVED[name]).unproven
    assert unproven is not None
    assert "unproven-loop" == unproven.code


def test_a_loop_that_is_moved_leaves_the_buffer_as_machine_code() -> None:
    """It read item -64 of 16."""
    assert "f: index of A" == find_wild_access(MOVED["begins far from another's"])


@pytest.mark.parametrize(
    "inner", [lambda i: (0, i), lambda i: (2, 12)], ids=["from zero", "between numbers"]
)
def test_other_loops_within_one_that_begins_elsewhere_are_proven(inner: Any) -> None:
    module = loops_of((4, 6), inner)
    assert facts(module).unproven is None
    assert "" == find_wild_access(module)


def test_a_loop_from_the_variable_of_one_that_begins_at_0_is_proven() -> None:
    module = loops_of((0, 4), lambda i: (i + 1, i + 4))
    assert facts(module).unproven is None
    assert "" == find_wild_access(module)


@DRAWN
@given(programs(LONG_TYPES))
def test_no_proven_program_leaves_its_buffers(module: Any) -> None:
    with suppress(IRError, UncompiledError):
        if facts(module).unproven is None:
            assert "" == find_wild_access(module)


@DRAWN
@given(divisions())
def test_no_proven_division_is_another_number(drawn: Divided) -> None:
    if facts(drawn.module).unproven is None:
        assert "" == find_wild_access(drawn.module, drawn.items)
