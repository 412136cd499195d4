"""The instrument that poisons outputs."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.script import tirx as T  # noqa: N812

from grader.inside.common.failure import TaskError
from grader.inside.common.guards import Guards
from grader.inside.common.poison import REPEATED, Poison, fill, is_poisoned
from grader.inside.runner.model import run_module
from grader.messages.frames import number_type, unpack_array
from grader.messages.runner import integer_poison
from tests.inside.runner import modules

ALLOCATE = "vm.builtin.alloc_tensor"


def tensor(*values: float, dtype: str = "float32") -> tvm.runtime.Tensor:
    return tvm.runtime.tensor(np.array(values, dtype))


def call(poison: Poison, name: str, *arguments: object, writes: float | None = None) -> None:
    """Let the instrument see one call, which writes into its last argument or not."""
    poison(None, name, True, None, *arguments)
    if writes is not None:
        np.from_dlpack(arguments[-1])[:] = writes
    poison(None, name, False, None, *arguments)


def allocate(poison: Poison, output: tvm.runtime.Tensor) -> tvm.runtime.Tensor:
    poison(None, ALLOCATE, True, None)
    poison(None, ALLOCATE, False, output)
    return output


class TestFill:
    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
    def test_floats_become_nan(self, dtype: str) -> None:
        value = tvm.runtime.tensor(np.array([1, 2], number_type(dtype)))
        fill(value)
        with np.errstate(invalid="ignore"):
            assert np.isnan(value.numpy()).all()
        assert is_poisoned(value)

    @pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
    def test_whole_numbers_become_a_pattern(self, dtype: str) -> None:
        value = tensor(0, 1, dtype=dtype)
        fill(value)
        assert is_poisoned(value)
        assert not set(value.numpy().tolist()) & {0, 1}

    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64"])
    def test_whole_numbers_change_along_the_items_and_from_call_to_call(self, dtype: str) -> None:
        values = []
        for call in range(2):
            value = tvm.runtime.tensor(np.zeros(6, dtype))
            fill(value, call=call)
            assert is_poisoned(value, call)
            assert not is_poisoned(value, 1 - call)
            values.append(value.numpy())
        first, second = values
        assert (first[:-1] != first[1:]).all()
        assert (first != second).all()

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
    def test_in_the_call_that_is_repeated_floats_become_large_numbers(self, dtype: str) -> None:
        value = tvm.runtime.tensor(np.array([1, 2, 3], number_type(dtype)))
        fill(value, call=REPEATED)
        assert is_poisoned(value, REPEATED)
        assert not is_poisoned(value)
        found = value.numpy().astype("float64")
        assert np.isfinite(found).all()
        assert (np.sign(found) == [1, -1, 1]).all()
        assert (np.abs(found) > 1e4).all()

    def test_one_written_item_is_enough_to_be_written(self) -> None:
        value = tensor(1, 2, 3)
        fill(value)
        np.from_dlpack(value)[1] = 0
        assert not is_poisoned(value)

    def test_a_computed_nan_is_not_poison(self) -> None:
        value = tensor(1, 2)
        fill(value)
        with np.errstate(invalid="ignore"):
            computed = value.numpy() + np.float32(1)
        assert np.isnan(computed).all()
        assert not is_poisoned(tvm.runtime.tensor(computed))

    def test_nothing_cannot_be_poisoned(self) -> None:
        assert not is_poisoned(tvm.runtime.tensor(np.empty((0, 3), "float32")))


class TestPoison:
    def test_only_what_was_just_allocated_is_filled(self) -> None:
        poison, given = Poison(), tensor(1)
        output = allocate(poison, tensor(2))
        call(poison, "f", given, output)
        assert given.numpy().tolist() == [1]
        assert is_poisoned(output)

    def test_the_same_tensor_is_an_input_afterwards(self) -> None:
        poison = Poison()
        output = allocate(poison, tensor(2))
        call(poison, "f", tensor(1), output, writes=5)
        call(poison, "g", output, tensor(0))
        assert output.numpy().tolist() == [5]

    def test_what_a_builtin_took_is_not_filled_later(self) -> None:
        poison = Poison()
        output = allocate(poison, tensor(2))
        call(poison, "vm.builtin.copy", tensor(1), output)
        call(poison, "f", output)
        assert output.numpy().tolist() == [2]

    def test_who_does_not_write_is_named_once(self) -> None:
        poison = Poison()
        for _ in range(2):
            call(poison, "f", tensor(1), allocate(poison, tensor(2)))
        call(poison, "g", tensor(1), allocate(poison, tensor(2)), writes=0)
        assert poison.unwritten == ["f"]

    def test_integers_that_are_those_of_the_memory_once_were_written_all_the_same(self) -> None:
        poison, written, never = Poison(), [], []
        for number in range(2):
            poison.reset(number)
            output = allocate(poison, tensor(0, dtype="int8"))
            call(poison, "lucky", output, writes=integer_poison("int8", 1)[0])
            call(poison, "never", allocate(poison, tensor(0, dtype="int8")))
            written.append("lucky" in poison.unwritten)
            never.append("never" in poison.unwritten)
        assert [True, False] == written
        assert [True, True] == never

    def test_who_copies_poison_is_not_named(self) -> None:
        poison = Poison()
        first = allocate(poison, tensor(1))
        call(poison, "f", tensor(1), first)
        call(poison, "copy", first, allocate(poison, tensor(2)))
        assert poison.unwritten == ["f"]

    def test_an_output_on_top_of_an_input_is_refused(self) -> None:
        memory = np.from_dlpack(tvm.runtime.empty((64,), "float32"))
        given = tvm.runtime.from_dlpack(memory[:32])
        output = allocate(poison := Poison(), tvm.runtime.from_dlpack(memory[16:]))
        with pytest.raises(TaskError, match="shares its memory"):
            call(poison, "f", given, output)

    def test_all_outputs_of_one_call_are_filled_and_written(self) -> None:
        result = run_module(modules.task(modules.TwoOutputs, np.ones((2, 4))))
        assert (unpack_array(result.outputs) == 1).all()
        assert result.unwritten == ()


def copied(dtype: str, extent: int) -> tvm.tirx.PrimFunc:
    """A function that returns what is in a buffer of its own before anything is written there."""

    @T.prim_func(s_tir=True)
    def main(y: T.Buffer((extent,), dtype)):
        own = T.alloc_buffer((extent,), dtype)
        for i in range(extent):
            with T.sblock("own"):
                v = T.axis.spatial(extent, i)
                own[v] = own[v] + T.Cast(dtype, v)
        for i in range(extent):
            with T.sblock("y"):
                v = T.axis.spatial(extent, i)
                y[v] = own[extent - 1 - v]

    return main


def copied_as(dtype: str) -> tvm.tirx.PrimFunc:
    """A function that returns numbers of another type before anything is written there."""

    @T.prim_func(s_tir=True)
    def main(y: T.Buffer((300,), "float32")):
        own = T.alloc_buffer((300,), dtype)
        for i in range(300):
            with T.sblock("y"):
                v = T.axis.spatial(300, i)
                y[v] = T.Cast("float32", own[v])

    return main


@T.prim_func(s_tir=True)
def of_any_length(a: T.handle):
    n = T.int32()
    y = T.match_buffer(a, (n, 4))
    own = T.alloc_buffer((n, 4))
    for i, j in T.grid(n, 4):
        with T.sblock("own"):
            vi, vj = T.axis.remap("SS", [i, j])
            own[vi, vj] = own[vi, vj] + T.float32(1)
    for i, j in T.grid(n, 4):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = own[vi, 3 - vj]


@T.prim_func(s_tir=True)
def in_vectors_of_three(y: T.Buffer((3000,), "float32")):
    own = T.alloc_buffer((3000,))
    for i in range(1000):
        for j in T.vectorized(3):
            with T.sblock("own"):
                v = T.axis.spatial(3000, i * 3 + j)
                own[v] = own[v] + T.float32(1)
    for i in range(1000):
        for j in T.vectorized(3):
            with T.sblock("y"):
                v = T.axis.spatial(3000, i * 3 + j)
                y[v] = own[v]


def found(function: tvm.tirx.PrimFunc, poison: Poison, output: np.ndarray) -> np.ndarray:
    guards = Guards(fill=poison.own)
    with guards.building() as pipeline:
        public = function.with_attr("global_symbol", "main")
        compiled = tvm.compile(public, "llvm", tir_pipeline=pipeline)
    tensor = tvm.runtime.tensor(output)
    compiled.mod["main"](tensor)
    guards.demand_none()
    return tensor.numpy()


class TestOwn:
    """Buffers that a function allocates: small ones lie on the stack, others in TVM's memory."""

    @pytest.mark.parametrize("extent", [9, 300, 6000])
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    def test_floats_are_nan(self, dtype: str, extent: int) -> None:
        values = found(copied(dtype, extent), Poison(), np.zeros(extent, dtype))
        assert np.isnan(values).all()

    @pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint16"])
    def test_whole_numbers_are_none_that_a_sum_begins_with(self, dtype: str) -> None:
        values = found(copied(dtype, 30), Poison(), np.zeros(30, dtype))
        right = np.arange(30, dtype=dtype)[::-1]
        assert (values != right).all()
        rest = (values - right).tolist()
        assert [1, 1, 2] == [len(set(each)) for each in (rest[::2], rest[1::2], rest)]

    def test_whole_numbers_are_other_ones_in_the_next_call(self) -> None:
        poison, function = Poison(), copied("int32", 30)
        first = found(function, poison, np.zeros(30, "int32"))
        poison.reset(1)
        assert (first != found(function, poison, np.zeros(30, "int32"))).all()

    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "bool"])
    def test_other_numbers_are_filled_behind_the_passes_that_store_them_otherwise(
        self, dtype: str
    ) -> None:
        values = found(copied_as(dtype), Poison(), np.zeros(300, "float32"))
        assert np.isnan(values).all() if dtype != "bool" else {0, 1} == set(values.tolist())

    def test_where_memory_is_cleared_they_are_zeros(self) -> None:
        cleared = Poison(cleared=True)
        values = found(copied("float32", 300), cleared, np.zeros(300, "float32"))
        assert (values == np.arange(300)[::-1]).all()
        assert (1 == found(in_vectors_of_three, cleared, np.zeros(3000, "float32"))).all()
        assert (0 == found(copied_as("bool"), cleared, np.ones(300, "float32"))).all()

    def test_the_extent_may_be_known_at_run_time_only(self) -> None:
        assert np.isnan(found(of_any_length, Poison(), np.zeros((700, 4), "float32"))).all()

    def test_vectors_are_filled(self) -> None:
        values = found(in_vectors_of_three, Poison(), np.zeros(3000, "float32"))
        assert np.isnan(values).all()

    def test_what_was_computed_with_it_counts_as_written(self) -> None:
        values = found(copied("float32", 300), Poison(), np.zeros(300, "float32"))
        assert not is_poisoned(tvm.runtime.tensor(values))
