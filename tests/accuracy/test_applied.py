"""What is advised is done in the function, whatever casts stand there."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.diagnosis.mistakes import LikelyMistake
from tests.accuracy.applied import applied, done_behind, taken_in_place_of
from tests.ir.modules import save

MATMUL = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 4), "int8"), B: T.Buffer((4, 4), "int8"),
          V: T.Buffer((4,), "int32"), C: T.Buffer((4, 4), "int32")):
        for i, j, k in T.grid(4, 4, 4):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.int32(0)
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
        for i, j in T.grid(4, 4):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(T.min(C[vi, vj] * V[vj], 127), -128)
"""


def read(source: str) -> Any:
    return from_source(source, extra_vars={"I": I, "T": T})


@pytest.mark.parametrize(
    ("old", "new", "kind", "block", "found", "wanted"),
    [
        ("A[vi, vk]", "A[vk, vi]", "wrong_index", "C", "A[vk, vi]", "A[vi, vk]"),
        ("V[vj]", "V[vi]", "wrong_index", "D", "V[vi]", "V[vj]"),
        ("T.int32(0)", "T.int32(1)", "sum_start", "C", "1", "0"),
        ("127), -128", "128), -128", "wrong_operand", "D", "128", "127"),
        (
            "T.max(T.min(C[vi, vj] * V[vj], 127), -128)",
            "T.max(T.min(C[vi, vj] * V[vj], -128), 127)",
            "wrong_operator",
            "D",
            "max(min(..., -128), 127)",
            "max(min(..., 127), -128)",
        ),
        (
            'T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])',
            '(T.Cast("int32", A[vi, vk]) + T.Cast("int32", B[vk, vj]))',
            "wrong_operator",
            "C",
            "A[vi, vk] + B[vk, vj]",
            "A[vi, vk] * B[vk, vj]",
        ),
        (" * V[vj]", "", "operand_left_out", "D", "V", "C[vi, vj] * V[vj]"),
        ("[i, j, k]", "[i, j, j]", "axis_binding", "C", "", ""),
        ('"SSR"', '"RSS"', "axis_binding", "C", "RSS", "SSR"),
        ("T.grid(4, 4, 4)", "T.grid(4, 3, 4)", "short_axis", "C", "3", "4"),
    ],
)
def test_what_is_advised_makes_the_function_what_it_was(
    old: str, new: str, kind: Any, block: str, found: str, wanted: str
) -> None:
    assert old in MATMUL
    wrong = save(read(MATMUL.replace(old, new)))
    facts = {"block": block, "found": found, "wanted": wanted, "iterator": "vj"}
    made = applied(wrong, "f", LikelyMistake(kind, "", facts))
    assert made is not None
    right = save(read(MATMUL))
    pair = [tvm.ir.load_json(each.decode())["f"].script() for each in (made, right)]
    assert pair[0] == pair[1]


def test_what_does_not_stand_there_is_not_changed() -> None:
    facts = {"block": "C", "found": "A[vj, vi]", "wanted": "A[vi, vk]"}
    assert applied(save(read(MATMUL)), "f", LikelyMistake("wrong_index", "", facts)) is None


DOUBLED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            lv = R.nn.silu(x)
            lv1 = R.multiply(x, lv)
            lv2 = R.add(lv1, lv)
            R.output(lv2)
        return lv2
"""


def test_what_is_done_twice_is_done_once() -> None:
    loaded = from_source(DOUBLED, extra_vars={"I": I, "R": R})
    once = tvm.ir.load_json(taken_in_place_of(save(loaded), "lv1", "lv").decode())["main"].script()
    assert "R.multiply" not in once
    assert "R.add(lv, lv)" in once


ASIDE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.nn.softmax(lv)
            lv2 = R.nn.silu(lv)
            R.output(lv1)
        return lv1
"""


def test_what_is_done_too_early_is_done_behind() -> None:
    loaded = from_source(ASIDE, extra_vars={"I": I, "R": R})
    text = tvm.ir.load_json(done_behind(save(loaded), "lv1", "lv2").decode())["main"].script()
    assert text.index("R.nn.silu(lv)") < text.index("R.nn.softmax(lv2")
