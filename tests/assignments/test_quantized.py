"""The oracle and the workload of quantized, against the same in NumPy's long integers."""

from __future__ import annotations

import os

os.environ.update(TVM_BIND_THREADS="0", TVM_NUM_THREADS="1")  # before the first import of TVM


import numpy as np
import pytest
import tvm

from grader.computation import ArgumentTable
from grader.course_code import import_file
from grader.inside.common.modules import load_workload
from tests.our_course import our_course
from tests.seeded import seeded

CHOSEN = our_course().get("quantized")
ORACLE = import_file(CHOSEN.file("oracle.py"), "oracle")
WORKLOAD = load_workload(CHOSEN.workload())
GENERATOR = seeded(7)
CASES = 16


def draw(table: ArgumentTable) -> np.ndarray:
    drawn = GENERATOR.integers(*table.drawn, (CASES, *table.shape), endpoint=True)
    return drawn.astype(table.dtype)


def arguments(name: str) -> list[np.ndarray]:
    """Return arguments of a computation as the assignment has them drawn."""
    (found,) = (each for each in CHOSEN.assignment.computation if each.id == name)
    return [draw(each) for each in found.arguments]


def requantized(sums: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    sums, m, s = sums.astype(int), multiplier.astype(int)[:, None], shift.astype(int)[:, None]
    return np.clip((sums * m + (1 << (s - 1))) >> s, -128, 127)


class TestOracle:
    def test_products_are_summed_up_without_a_loss(self) -> None:
        a, b = arguments("matmul")
        np.testing.assert_array_equal(a.astype(int) @ b.astype(int), ORACLE.matmul({}, a, b))

    def test_it_rounds_halves_upwards_and_saturates(self) -> None:
        given = arguments("requantize")
        found = ORACLE.requantize({}, *given)
        np.testing.assert_array_equal(requantized(*given), found)
        assert {-128.0, 127.0} < set(found.flat)

    def test_the_layer_is_all_of_it(self) -> None:
        x, weight, bias, *scale = arguments("layer")
        sums = x.astype(int) @ weight.astype(int) + bias[:, None]
        found = ORACLE.layer({}, x, weight, bias, *scale)
        np.testing.assert_array_equal(requantized(sums, *scale), found)

    def test_floats_round_some_of_the_inputs_otherwise(self) -> None:
        """So whoever computes in floats is seen: 20 numbers or more of the 64 cases."""
        sums, m, s = arguments("requantize")
        exact = sums.astype(np.float32) * m[:, None] / np.exp2(s, dtype=np.float32)[:, None]
        for rounded in (np.rint(exact), np.copysign(np.floor(np.abs(exact) + 0.5), exact)):
            differs = np.clip(rounded, -128, 127) != requantized(sums, m, s)
            assert differs.sum() > 20 * CASES / 64

    def test_no_sum_leaves_int32(self) -> None:
        tables = {each.id: each.arguments for each in CHOSEN.assignment.computation}
        largest = {name: [each.drawn[1] for each in found] for name, found in tables.items()}
        sums, m, s = largest["requantize"]
        assert sums * m + 2 ** (s - 1) < 2**31
        x, weight, bias, m, s = largest["layer"]
        assert (64 * (x + 1) * (weight + 1) + bias) * m + 2 ** (s - 1) < 2**31


class TestWorkload:
    @pytest.mark.parametrize("which", ["baseline", "reference", "reference on two threads"])
    def test_it_computes_what_the_oracle_says(self, which: str) -> None:
        shapes = {"A": (128, 128), "B": (128, 128)}
        made = {
            "baseline": lambda: WORKLOAD.baseline("matmul", shapes),
            "reference": lambda: WORKLOAD.reference("matmul", shapes, 1),
            "reference on two threads": lambda: WORKLOAD.reference("matmul", shapes, 2),
        }[which]()
        a, b = (each[0] for each in arguments("matmul"))
        output = tvm.runtime.tensor(np.full((128, 128), 77, "int32"))
        tvm.compile(made, "llvm")["main"](*map(tvm.runtime.tensor, (a, b)), output)
        wanted = ORACLE.expected_workload("matmul", a[None], b)
        np.testing.assert_array_equal(wanted[0], output.numpy())

    def test_another_variant_is_refused(self) -> None:
        with pytest.raises(KeyError):
            ORACLE.expected_workload("conv2d", np.zeros((1, 2, 2)), np.zeros((2, 2)))
