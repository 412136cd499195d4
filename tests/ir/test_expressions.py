"""A data type means the same to the proof as to TVM, which has a parser of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import tvm
from tvm import s_tir, te

from grader.ir.expressions import parse
from grader.ir.read import read_module
from grader.ir.vocabulary import is_data_type
from tests.ir import modules

KINDS = ("int", "uint", "float", "bfloat")
VARIANTS = ("", "_e4m3fn", "_e5m2", "_e8m0fnu", "_e4m3b11fnuz", "_x", "_x4")
BITS = ("0", "00", "1", "4", "08", "8", "016", "24", "32", "64", "65", "128", "255", "256", "264")


def read_by_tvm(text: str) -> tuple[int, int] | None:
    """Return bits and lanes, None where TVM refuses the text."""
    try:
        kind = tvm.DataType(text)
    except ValueError:
        return None
    return int(kind.bits), int(kind.lanes)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_and_lanes_are_those_that_tvm_reads(kind: str) -> None:
    parts = product(BITS, VARIANTS, ("", "x1", "x03", "x4", "x256", "x0"))
    texts = [f"{kind}{bits}{variant}{lanes}" for bits, variant, lanes in parts]
    accepted = [text for text in texts if is_data_type(text)]
    assert f"{kind}8x4" in accepted
    for text in accepted:
        found = parse(text)
        assert read_by_tvm(text) in (None, (found.bits, found.lanes)), text


@pytest.mark.parametrize("text", ["boolx3", "boolx256", "float8_e4m3fnx256", "float4_e2m1fnx3"])
def test_lanes_are_no_part_of_a_name(text: str) -> None:
    assert read_by_tvm(text) == (parse(text).bits, parse(text).lanes)


def test_a_vector_of_scalable_length_is_no_data_type() -> None:
    assert -4 == tvm.DataType("float32xvscalex4").lanes
    assert not is_data_type("float32xvscalex4")


# --- strides --------------------------------------------------------------------------------------
# How far apart the lanes of a vectorized loop store, after whatever was done to the loops.


SHAPE = (4, 6, 8)

Change = Callable[..., Any]


def function(shape: tuple[Any, ...] = SHAPE) -> Any:
    source = te.placeholder(shape, "float32", name="source")
    result = te.compute(shape, lambda *i: source[i] + 1, name="result")
    return te.create_prim_func([source, result])


def stride(change: Change, shape: tuple[Any, ...] = SHAPE) -> int | None:
    """Return the lane stride of the one store, after `change(schedule, *loops)`."""
    made = s_tir.Schedule(tvm.IRModule({"main": function(shape)}))
    change(made, *made.get_loops(made.get_sblock("result")))
    (block,) = read_module(modules.save(made.mod)).functions["main"].blocks
    (store,) = block.statements
    return store.lane_stride


@pytest.mark.parametrize(("axis", "expected"), [(0, 48), (1, 8), (2, 1)])
def test_a_loop_moves_by_what_its_axis_moves_in_memory(axis, expected):
    assert expected == stride(lambda sch, *loops: sch.vectorize(loops[axis]))


def test_without_a_vectorized_loop_there_is_no_stride():
    assert stride(lambda sch, *loops: None) is None
    assert stride(lambda sch, *loops: sch.parallel(loops[2])) is None


def test_a_vectorized_loop_of_one_iteration_is_none():
    assert stride(lambda sch, *loops: sch.vectorize(loops[0]), (1, 6, 8)) is None


def test_the_inner_part_of_a_split_is_as_the_whole():
    assert 1 == stride(lambda sch, i, j, k: sch.vectorize(sch.split(k, [None, 4])[1]))


def test_the_outer_part_of_a_split_moves_by_the_inner_one():
    assert 4 == stride(lambda sch, i, j, k: sch.vectorize(sch.split(k, [None, 4])[0]))


def test_fused_axes_are_one_row_of_memory():
    assert 1 == stride(lambda sch, i, j, k: sch.vectorize(sch.fuse(j, k)))
    assert 1 == stride(
        lambda sch, i, j, k: sch.vectorize(sch.split(sch.fuse(i, j, k), [None, 16])[1])
    )


def test_axes_that_were_fused_the_wrong_way_round_have_no_stride():
    def change(sch, i, j, k):
        sch.reorder(k, j)
        sch.vectorize(sch.fuse(k, j))

    assert stride(change) is None


def test_lanes_that_jump_in_some_rounds_only_have_no_stride():
    """Of six rows, four fit the first time; then two are left before the next column."""

    def change(sch, i, j, k):
        sch.reorder(k, j)
        sch.vectorize(sch.split(sch.fuse(k, j), [None, 4])[1])

    assert stride(change) is None


def test_a_split_that_does_not_divide_has_the_stride_of_its_axis():
    assert 1 == stride(lambda sch, i, j, k: sch.vectorize(sch.split(k, [None, 3])[1]))


def test_an_axis_of_unknown_length_inside_makes_the_stride_unknown():
    inner = (4, 6, tvm.tirx.Var("n", "int32"))
    assert stride(lambda sch, i, j, k: sch.vectorize(j), inner) is None


def test_the_axes_of_each_loop_are_told():
    made = s_tir.Schedule(tvm.IRModule({"main": function()}))
    i, j, k = made.get_loops(made.get_sblock("result"))
    made.split(k, [None, 4])
    made.fuse(i, j)
    (block,) = read_module(modules.save(made.mod)).functions["main"].blocks
    assert ((0, 1), (2,), (2,)) == block.statements[0].axes
