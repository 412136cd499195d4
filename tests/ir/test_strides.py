"""How far apart the lanes of a vectorized loop store, after whatever was done to the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import s_tir, te

from grader.ir.read import read_module
from tests.ir import modules

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
