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
    assert unproven.code in ("division", "index", "iterator")


def test_a_negative_modulus_leaves_the_buffer_as_machine_code() -> None:
    """So what is held here can be seen at all: it read item -23 of 27."""
    assert "f: index of local" == find_wild_access(index_of(*WRONG["negative modulus"]))


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
