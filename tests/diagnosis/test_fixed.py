"""One index that stands where a loop's should is tried, whichever it is."""

# ruff: noqa: N803, N805

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.diagnosis.align import Observed, align
from grader.diagnosis.fixed import standing_indices
from grader.diagnosis.words import tell_change
from grader.evidence.recorder import record
from grader.ir.read import read_module
from tests.diagnosis.network import double, noise
from tests.ir.modules import save

LEFT, RIGHT, WEIGHT, BIAS = noise(16, 6, 7), noise(16, 7, 5), noise(9, 7), noise(9)

Values = np.ndarray[Any, Any]


def batches(left: Values, right: Values) -> Values:
    result: Values = (double(left) @ double(right)).numpy()
    return result


def layer(left: Values, _right: Values) -> Values:
    x = torch.nn.functional.linear(double(left), double(WEIGHT), double(BIAS))
    result: Values = x.numpy()
    return result


def told(compute: Callable[..., Values], value: Values, indices: Sequence[int]) -> str:
    """Return what is told of a value in place of PyTorch's, nothing where no mistake is."""
    layers = record(lambda: compute(LEFT, RIGHT), [LEFT, RIGHT])
    step = Observed("C", "f", value.astype(np.float32), takes_input=True)
    mistake = align([step], layers, indices=indices).mistake
    if mistake is None or mistake.kind != "index_fixed":
        return ""
    return tell_change(mistake.kind, mistake.facts)[0].english


WRONG = {
    "only the matrix at 3 of the second argument is read": (batches, LEFT @ RIGHT[3]),
    "only the matrix at 3 of the first argument is read": (batches, LEFT[3] @ RIGHT),
    "the second operand is read at the same index, 3, along one axis": (
        batches,
        np.repeat((LEFT @ RIGHT)[:, :, 3:4], 5, axis=2),
    ),
    "a factor is read at the same index, 3, in every iteration of the sum": (
        batches,
        LEFT.sum(2, keepdims=True) * RIGHT[:, 3:4],
    ),
    "the weight is read with 3 as its first index for the whole output": (
        layer,
        (LEFT @ WEIGHT[3])[:, :, None] + BIAS,
    ),
    "the bias is read at the same index, 3, for the whole output": (
        layer,
        LEFT @ WEIGHT.T + BIAS[3],
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_index_that_stands_in_the_module_is_told(what: str) -> None:
    assert what == told(*WRONG[what], indices=(2, 3))


@pytest.mark.parametrize("what", WRONG)
def test_one_that_stands_nowhere_in_it_is_not(what: str) -> None:
    assert "" == told(*WRONG[what], indices=(2,))


def test_in_front_of_a_softmax_no_index_is_told_that_any_other_is_like() -> None:
    """What is left there is the bias alone, as where the sum is nothing."""
    x, weight, bias = noise(6, 7), noise(9, 7), noise(9)

    def compute() -> Any:
        return torch.softmax(torch.nn.functional.linear(double(x), double(weight), double(bias)), 1)

    alone = np.repeat(np.exp(bias)[None] / np.exp(bias).sum(), 6, axis=0)
    mistake = align([Observed("C", "f", alone, takes_input=True)], record(compute, [x])).mistake
    assert mistake is not None
    assert "operand_missing" == mistake.kind


@I.ir_module
class Standing:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(7):
            with T.sblock("C"):
                vi = T.axis.spatial(7, i)
                C[5] = A[0, 3] + A[vi, 12] * T.float32(9)


@I.ir_module
class Unrolled:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), "float32"), C: T.Buffer((1,), "float32")):
        for i in range(1):
            with T.sblock("C"):
                vi = T.axis.spatial(1, i)
                C[vi] = (
                    (A[1] + A[2] + A[3])
                    + (A[4] + A[5] + A[6])
                    + (A[7] + A[8] + A[9])
                )  # fmt: skip


@pytest.mark.parametrize(("module", "found"), [(Standing, (3, 12)), (Unrolled, ())])
def test_they_are_read_where_buffers_are(module: Any, found: tuple[int, ...]) -> None:
    """Where something is stored, and numbers that are computed with, are no such indices."""
    assert found == standing_indices(read_module(save(module)))
