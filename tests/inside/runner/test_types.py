"""Functions of every dtype, run and timed: what comes back, and what memory leaves in it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.script import tirx as T  # noqa: N812

from grader.computation import TOLERANCES
from grader.inside.runner.arena import Arena, Ledger, unwritten
from grader.inside.runner.kernels import Kernel
from grader.inside.runner.model import run_module
from grader.inside.runner.signature import OUTPUT, Arrays, Form, read_signature
from grader.messages.frames import DType, number_type, pack_array, unpack_array
from grader.messages.runner import RunArgument, RunModule, TensorSpec
from grader.timing.slices import Plan

CASES, ITEMS = 4, 6


def values(dtype: str) -> np.ndarray:
    return (np.arange(CASES * ITEMS).reshape(CASES, ITEMS) % 5 % 2).astype(number_type(dtype))


def run(function: tvm.tirx.PrimFunc, given: np.ndarray, output: str) -> np.ndarray:
    module = tvm.IRModule({"f": function.with_attr("global_symbol", "f")})
    outputs = (TensorSpec(output, (ITEMS,)),)  # type: ignore[arg-type]
    arguments = (RunArgument(pack_array(given)),)
    document = tvm.ir.save_json(module).encode()
    task = RunModule(document, arguments, "llvm", 1, function="f", outputs=outputs)
    return unpack_array(run_module(task).outputs)


def cast(source: str, target: str) -> tvm.tirx.PrimFunc:
    given = te.placeholder((ITEMS,), source, name="given")
    return te.create_prim_func(
        [given, te.compute((ITEMS,), lambda i: given[i].astype(target), name="result")]
    )


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_every_type_of_an_assignment_is_run_and_comes_back(dtype: str) -> None:
    given = values("int8")
    found = run(cast("int8", dtype), given, dtype)
    assert dtype == str(found.dtype)
    assert np.array_equal(given.astype(number_type(dtype)), found)


@pytest.mark.parametrize("dtype", ["bool", "bfloat16"])
def test_every_type_is_taken(dtype: str) -> None:
    assert np.array_equal(values("int32"), run(cast(dtype, "int32"), values(dtype), "int32"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_a_maximum_that_begins_with_the_memory_is_wrong_in_some_call(dtype: str) -> None:
    """With one number in the memory, the least, it would be right."""

    @T.prim_func(s_tir=True)
    def largest(given: T.Buffer((ITEMS,), dtype), result: T.Buffer((ITEMS,), dtype)):
        for i in range(ITEMS):
            with T.sblock("result"):
                v = T.axis.spatial(ITEMS, i)
                result[v] = T.max(result[v], given[v])

    given = values(dtype)
    is_right = run(largest, given, dtype) == given
    assert not is_right[:2].all(axis=0).any()


class TestTiming:
    @pytest.mark.parametrize("dtype", [each for each in get_args(DType) if each != "bfloat16"])
    def test_calls_leave_their_outputs_in_arrays_of_the_type(self, dtype: str) -> None:
        given = values(dtype)
        arrays = Arrays("given", given, {})
        output = Form((ITEMS,), dtype)
        function = copied(dtype)
        signature = read_signature(function, arrays, output)
        arena = Arena(arrays, CASES, {**signature.shapes, OUTPUT: (ITEMS,)}, dtype)
        kernel = Kernel(f"typed_{dtype}", function, signature, arena, tvm.target.Target("llvm"))
        arena.restore()
        kernel.bound()(0, *Plan(0, 3))
        assert arena.is_intact()
        assert arena.is_untouched()
        assert 3 == arena.ledger.calls
        np.testing.assert_array_equal(given[2], arena.output())
        slots = arena.ledger.read(np.arange(3, dtype=np.int32))
        np.testing.assert_array_equal(given[[0, 1, 2], slots.places], slots.values)

    def test_arrays_of_one_shape_are_told_apart_by_their_type(self) -> None:
        left = te.placeholder((ITEMS,), "int32", name="left")
        right = te.placeholder((ITEMS,), "int8", name="right")
        total = te.compute((ITEMS,), lambda i: left[i] + right[i].astype("int32"), name="total")
        function = te.create_prim_func([left, right, total])
        arrays = Arrays("B", values("int8"), {"A": values("int32")[0]})
        signature = read_signature(function, arrays, Form((ITEMS,), "int32"))
        assert ("A", "B", OUTPUT) == signature.roles

    @pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "int64", "float16"])
    def test_what_is_put_before_a_call_is_like_any_number_of_the_type(self, dtype: str) -> None:
        ledger = Ledger(ITEMS, dtype)
        ledger.begin()
        _, _, numbers, *_ = ledger.arrays
        assert dtype == str(numbers.dtype)
        assert np.isfinite(numbers).all()
        assert len(set(numbers.tolist())) > (1 if dtype == "bool" else 100)

    def test_what_is_unwritten_is_nan_or_two_numbers(self) -> None:
        assert np.isnan(unwritten("float16", 4)).all()
        assert 2 == len(set(unwritten("int32", 4).tolist()))


def copied(dtype: str) -> tvm.tirx.PrimFunc:
    given = te.placeholder((ITEMS,), dtype, name="given")
    return te.create_prim_func([given, te.compute((ITEMS,), lambda i: given[i], name="result")])
