"""A sum that nothing begins is told where a ReLU makes zeros of it."""

# ruff: noqa: N803, N805, N806

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.diagnosis.align import Alignment
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.unset import with_unset_sum
from grader.ir.facts import ModuleFacts
from grader.ir.read import read_module
from tests.ir.modules import save


@I.ir_module
class Unset:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        Y = T.sblock_alloc_buffer((4,), "float32")
        for i, k in T.grid(4, 8):
            with T.sblock("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                Y[vi] = Y[vi] + A[vi, vk]
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = T.max(Y[vi], T.float32(0))


@I.ir_module
class Begun:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        Y = T.sblock_alloc_buffer((4,), "float32")
        for i in range(4):
            with T.sblock("init"):
                vi = T.axis.spatial(4, i)
                Y[vi] = T.float32(0)
        for i, k in T.grid(4, 8):
            with T.sblock("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                Y[vi] = Y[vi] + A[vi, vk]
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = T.max(Y[vi], T.float32(0))


@cache
def facts_of(module: type) -> ModuleFacts:
    return read_module(save(module))


def told(module: type, kind: Any = "zeros", callee: str = "f") -> str:
    zeros = Alignment(("wrong",), (None,), 0, mistake=LikelyMistake(kind, "relu", {}, 1))
    found = with_unset_sum(zeros, facts_of(module), callee).mistake
    assert found is not None
    return found.kind


def test_zeros_of_a_sum_that_nothing_begins_are_told_as_what_they_are() -> None:
    assert "sum_not_initialised" == told(Unset)


def test_zeros_of_one_that_is_begun_in_another_block_are_not() -> None:
    assert "zeros" == told(Begun)


@pytest.mark.parametrize("changed", [{"kind": "input_returned"}, {"callee": "env.f"}])
def test_other_mistakes_and_other_functions_are_not_meant(changed: Any) -> None:
    assert "sum_not_initialised" != told(Unset, **changed)
