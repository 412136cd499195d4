"""All spellings of the same loops have one form, and other loops have another."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.ir.read import read_module

PRODUCT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def product(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 8), "float32"),
                C: T.Buffer((8, 8), "float32")):
        T.func_attr({"global_symbol": "product", "tirx.noalias": True})
        Y = T.sblock_alloc_buffer((8, 8), "float32")
        for i, j, k in T.grid(8, 8, 4):
            with T.sblock("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))
"""

SAME = {
    "other names": [("product", "f"), ("Y", "Z"), ("vk", "k0"), ('"C"', '"relu"')],
    "without attributes": [
        ('        T.func_attr({"global_symbol": "product", "tirx.noalias": True})\n', "")
    ],
    "buffers matched": [
        ('A: T.Buffer((8, 4), "float32")', "a: T.handle"),
        ("        Y = T.sb", '        A = T.match_buffer(a, (8, 4), "float32")\n        Y = T.sb'),
    ],
    "axes one by one": [
        (
            'vi, vj, vk = T.axis.remap("SSR", [i, j, k])',
            "vi = T.axis.spatial(8, i)\n                vj = T.axis.spatial(8, j)\n"
            "                vk = T.axis.reduce(4, k)",
        )
    ],
    "operands the other way round": [
        ("Y[vi, vj] + A[vi, vk] * B[vk, vj]", "B[vk, vj] * A[vi, vk] + Y[vi, vj]")
    ],
    "declared regions": [
        (
            "                with T.init",
            "                T.reads(A[vi, 0:4], B[vk, vj])\n"
            "                T.writes(Y[vi, vj])\n                with T.init",
        )
    ],
    "loops in parallel": [
        ("for i, j in T.grid(8, 8):", "for i in T.parallel(8):\n          for j in range(8):")
    ],
    "long integers": [("(8, 4)", "(T.int64(8), T.int64(4))")],
}

OTHER = {
    "another axis": [("B[vk, vj]", "B[vj % 4, vk]")],
    "no ReLU": [("T.max(Y[vi, vj], T.float32(0))", "Y[vi, vj]")],
    "another constant": [("= T.float32(0)", "= T.float32(1)")],
    "another kind of axis": [("SSR", "SSS")],
    "another shape": [("(8, 4)", "(8, 5)")],
    "the order of the loops": [
        ("for i, j, k in T.grid(8, 8, 4)", "for k, j, i in T.grid(4, 8, 8)")
    ],
}


def parsed(text: str) -> Any:
    return from_source(text, extra_vars={"I": I, "R": R, "T": T})


def form(changes: list[tuple[str, str]]) -> str:
    text = PRODUCT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    facts = read_module(tvm.ir.save_json(parsed(text)).encode())
    (function,) = facts.functions.values()
    return function.form


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME.keys())
def test_a_spelling_changes_nothing(changes: list[tuple[str, str]]) -> None:
    assert form([]) == form(changes)


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER.keys())
def test_another_function_has_another_form(changes: list[tuple[str, str]]) -> None:
    assert form([]) != form(changes)


GRAPH = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def NAME(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(FACTOR)

    @R.function
    def main(INPUT: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.NAME, (INPUT,), R.Tensor((4,), "float32"))
            R.output(y)
        return y
"""


def graph_form(name: str, factor: str, taken: str) -> str:
    text = GRAPH.replace("NAME", name).replace("FACTOR", factor).replace("INPUT", taken)
    return read_module(tvm.ir.save_json(parsed(text)).encode()).form


def test_a_graph_counts_its_functions_by_their_forms() -> None:
    assert graph_form("scale", "2", "x") == graph_form("other", "2", "data")
    assert graph_form("scale", "2", "x") != graph_form("scale", "3", "x")
