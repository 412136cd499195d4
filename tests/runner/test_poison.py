"""The instrument that poisons outputs."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from grader.messages import unpack_array
from grader.runner.failure import TaskError
from grader.runner.model import run_module
from grader.runner.poison import Poison, fill, is_poisoned
from tests.runner import modules

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
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    def test_floats_become_nan(self, dtype: str) -> None:
        value = tensor(1, 2, dtype=dtype)
        fill(value)
        assert np.isnan(value.numpy()).all()
        assert is_poisoned(value)

    @pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
    def test_whole_numbers_become_a_pattern(self, dtype: str) -> None:
        value = tensor(0, 1, dtype=dtype)
        fill(value)
        assert is_poisoned(value)
        assert not set(value.numpy().tolist()) & {0, 1}

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
