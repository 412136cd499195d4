"""What a function keeps in its own buffers explains zeros, and numbers that are nearly right."""

# ruff: noqa: N803, N805, N806

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.diagnosis.align import Alignment
from grader.diagnosis.layers import TOLERANCE
from grader.diagnosis.matching import Observed
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.own_buffers import (
    with_conditional_store,
    with_lesser_sum,
    with_misplaced_init,
    with_unset_sum,
    with_unwritten_buffer,
)
from grader.diagnosis.words import tell_change
from grader.evidence.operations import Layer, Operation
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
class OutputFirst:
    @T.prim_func(s_tir=True)
    def f(Y: T.Buffer((4,), "float32"), X: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("Y"):
                vi = T.axis.spatial(4, i)
                Y[vi] = T.max(X[vi], T.float32(0))


@I.ir_module
class WithoutElse:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                if A[vi, vj] > T.float32(0):
                    C[vi, vj] = A[vi, vj]


@I.ir_module
class WithElse:
    """Half of the rows are left out, and both branches store."""

    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(2, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                if A[vi, vj] > T.float32(0):
                    C[vi, vj] = A[vi, vj]
                else:
                    C[vi, vj] = T.float32(0)


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


@I.ir_module
class BegunElsewhere:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        Y = T.sblock_alloc_buffer((4,), "float32")
        for i, k in T.grid(4, 8):
            with T.sblock("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
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


@pytest.mark.parametrize(("module", "is_told"), [(BegunElsewhere, True), (Unset, False)])
def test_of_an_init_that_sets_another_buffer_both_are_named(module: type, *, is_told: bool) -> None:
    """Its author has a T.init() and was told to set the sum to 0, with T.init()."""
    unset = LikelyMistake("sum_not_initialised", "bmm", {}, 1)
    found = with_misplaced_init(
        Alignment(("wrong",), (None,), 0, mistake=unset), facts_of(module), "f"
    ).mistake
    assert found is not None
    what, advice = tell_change(found.kind, found.facts)
    assert is_told == ("`T.init()` of block `Y` sets `C`; it should set `Y`" == what.english)
    assert is_told == advice.english.startswith("Set `Y` in that `T.init()`.")


def test_zeros_of_a_sum_that_nothing_begins_are_told_as_what_they_are() -> None:
    assert "sum_not_initialised" == told(Unset)


def test_zeros_of_one_that_is_begun_in_another_block_are_not() -> None:
    assert "zeros" == told(Begun)


@pytest.mark.parametrize("changed", [{"kind": "input_returned"}, {"callee": "env.f"}])
def test_other_mistakes_and_other_functions_are_not_meant(changed: Any) -> None:
    assert "sum_not_initialised" != told(Unset, **changed)


@I.ir_module
class Lesser:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        Y = T.sblock_alloc_buffer((4,), "float16")
        for i, k in T.grid(4, 8):
            with T.sblock("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    Y[vi] = T.float16(0)
                Y[vi] = Y[vi] + T.Cast("float16", A[vi, vk])
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = T.Cast("float32", Y[vi])


SUMS = np.array([1.0, 10.0, 100.0, 1000.0], np.float32)
NEARLY = SUMS * np.float32([1, 1, 1.01, 0.99])


def explained(
    module: type,
    mistake: LikelyMistake | None,
    value: npt.NDArray[Any] = NEARLY,
    tolerance: float = TOLERANCE,
) -> LikelyMistake | None:
    layer = Layer("sum", Operation("sum", (), {}), SUMS.astype(float), output=0)
    step = Observed("lv", "f", value)
    before = Alignment(("wrong",), (None,), 0, expected=0, mistake=mistake)
    return with_lesser_sum(before, facts_of(module), step, [layer], tolerance).mistake


PARTLY = LikelyMistake("partly_right", "sum", {"share": 0.5}, 0)


@pytest.mark.parametrize("mistake", [PARTLY, None])
def test_a_buffer_of_lesser_precision_is_named_where_numbers_are_nearly_right(
    mistake: LikelyMistake | None,
) -> None:
    facts = {"dtype": "float16", "buffer": "Y"}
    assert LikelyMistake("low_precision", "sum", facts, 0) == explained(Lesser, mistake)


@I.ir_module
class Weighted:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "float32"), W: T.Buffer((4,), "float16"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = A[vi] * T.Cast("float32", W[vi])


def test_weights_of_lesser_precision_are_named() -> None:
    facts = {"dtype": "float16"}
    assert LikelyMistake("low_precision", "sum", facts, 0) == explained(Weighted, None)


def test_a_product_is_nearly_right_where_its_bias_is_added_later() -> None:
    product = Layer("product", Operation("linear", (), {}), SUMS.astype(float), is_partial=True)
    whole = Layer("linear", Operation("bias", (), {}), SUMS.astype(float)[::-1], output=0)
    before = Alignment(("wrong",), (None,), 0, expected=1)
    step = Observed("lv", "f", NEARLY)
    found = with_lesser_sum(before, facts_of(Weighted), step, [product, whole], TOLERANCE)
    assert (0, "low_precision") == (found.expected, found.mistake and found.mistake.kind)


def test_it_is_not_where_they_are_further_off() -> None:
    assert PARTLY == explained(Lesser, PARTLY, value=SUMS * np.float32([1, 1, 1, 0.9]))


def test_it_is_not_where_another_mistake_explains_them() -> None:
    other = LikelyMistake("bias_missing", "sum", {}, 0)
    assert other == explained(Lesser, other)


def test_it_is_not_where_the_course_computes_so() -> None:
    assert PARTLY == explained(Lesser, PARTLY, tolerance=10 * TOLERANCE)


def test_a_function_in_float32_has_none() -> None:
    assert PARTLY == explained(Begun, PARTLY)


def test_the_buffer_is_told_with_what_to_do() -> None:
    found = explained(Lesser, PARTLY)
    assert found is not None
    message, advice = tell_change(found.kind, found.facts)
    assert "keeps `Y` in float16" in message.english
    assert "Allocate `Y` in float32" in advice.english


@I.ir_module
class Unwritten:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        Y = T.sblock_alloc_buffer((4,), "int32")
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = T.max(Y[vi], A[vi])


@pytest.mark.parametrize(("module", "kind"), [(Unwritten, "not_written"), (Begun, None)])
def test_a_buffer_that_is_read_and_never_written_is_named(module: type, kind: str | None) -> None:
    found = with_unwritten_buffer(Alignment(("wrong",), (None,), 0), facts_of(module), "f").mistake
    assert kind == (None if found is None else found.kind)
    if found is not None:
        what, advice = tell_change(found.kind, found.facts)
        assert "it reads the buffer `Y`, which is never written" == what.english
        assert "Write every number of `Y` before it is read." == advice.english


def test_a_parameter_that_is_written_in_place_of_the_last_one_is_named() -> None:
    """Of `te.create_prim_func([Y, X])` it was said that nothing is written into `X`."""
    alignment = Alignment(("wrong",), (None,), 0, mistake=LikelyMistake("not_written", "relu"))
    found = with_unwritten_buffer(alignment, facts_of(OutputFirst), "f").mistake
    assert found is not None
    assert ("input", "Y", "X") == tuple(found.facts.values())


@pytest.mark.parametrize(
    ("module", "is_told"), [(WithoutElse, True), (WithElse, False), (Begun, False)]
)
def test_numbers_that_no_branch_writes_are_told_with_the_condition(
    module: Any, *, is_told: bool
) -> None:
    """Whose ReLU had no `else` was told to loop over the whole output, as the loops did."""
    mistake = LikelyMistake("partly_written", "relu", {"share": 0.5}, 0)
    alignment = Alignment(("wrong",), (None,), 0, mistake=mistake)
    found = with_conditional_store(alignment, read_module(save(module)), "f").mistake
    assert found is not None
    advice = tell_change(found.kind, found.facts)[1].english
    assert is_told == ("`else`" in advice)
