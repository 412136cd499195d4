"""A sum that its terms are multiplied into is 0, and the module says why."""

# ruff: noqa: N803, N805, N806

from __future__ import annotations

from functools import cache

import pytest
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.diagnosis.align import Alignment
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.multiplied import multiplied_sums, with_multiplied_sum
from grader.ir.facts import ModuleFacts
from grader.ir.read import read_module
from tests.ir.modules import save


@I.ir_module
class Multiplied:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] * A[vi, vk] * T.float32(2)


@I.ir_module
class Added:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + C[vi] * A[vi, vk]


@I.ir_module
class FromOne:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(1)
                C[vi] = C[vi] * A[vi, vk]


@I.ir_module
class Rectified:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        Y = T.sblock_alloc_buffer((4,), "float32")
        for i, k in T.grid(4, 8):
            with T.sblock("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] * A[vi, vk]
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = T.max(Y[vi], T.float32(0))


@cache
def facts_of(module: type) -> ModuleFacts:
    return read_module(save(module))


ZEROS = Alignment(("wrong",), (None,), 0, mistake=LikelyMistake("zeros", "sum", {}, 3))


def told(module: type, alignment: Alignment = ZEROS, variable: str = "C") -> str:
    found = with_multiplied_sum(alignment, facts_of(module), "f", variable).mistake
    assert found is not None
    return found.kind


def test_zeros_are_told_as_what_they_come_of() -> None:
    assert "multiplied" == told(Multiplied)


def test_so_are_zeros_of_what_takes_such_a_sum() -> None:
    """An unscheduled module is looked at as a whole: its sum is no step of its own."""
    assert "multiplied" == told(Rectified)


@pytest.mark.parametrize("module", [Added, FromOne])
def test_a_sum_that_is_not_zero_by_itself_is_none(module: type) -> None:
    assert frozenset() == multiplied_sums(facts_of(module).functions["f"])
    assert "zeros" == told(module)


def test_another_buffer_of_the_function_is_not_meant() -> None:
    assert "zeros" == told(Multiplied, variable="Y")


@pytest.mark.parametrize(("operand", "kind"), [("product", "multiplied"), ("first", None)])
def test_of_what_is_missing_it_is_the_product_that_may_be_such_a_sum(
    operand: str, kind: str | None
) -> None:
    mistake = LikelyMistake("operand_missing", "linear", {"operand": operand}, 3)
    assert (kind or "operand_missing") == told(Multiplied, ZEROS._replace(mistake=mistake))
