"""What is right in assignment quantized, said in PyTorch.

Only the referee imports this file: it never enters a sandbox. Arguments and results have a leading
axis over the cases. All numbers are integers, and double precision holds each of them: no product
or sum here is larger than 2**31.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Integers = npt.NDArray[np.integer[Any]]
Doubles = npt.NDArray[np.float64]
Parameters = Mapping[str, Any]
"""The parameter file's arrays: this assignment has none."""

VARIANTS = ("matmul",)
"""What the timed function may compute."""

LEAST, LARGEST = -128, 127


def matmul(_parameters: Parameters, a: Integers, b: Integers) -> Doubles:
    """Return the products of int8 matrices, float64 (cases, 128, 128): `a` and `b` like them."""
    products: Doubles = torch.matmul(_double(a), _double(b)).numpy()
    return products


def requantize(
    _parameters: Parameters, sums: Integers, multiplier: Integers, shift: Integers
) -> Doubles:
    """Return what int8 there is for int32 sums, float64 (cases, 32, 48), like `sums`.

    `multiplier` and `shift` are int32 (cases, 48), one for each column.
    """
    scaled = _to_int8(_double(sums), _double(multiplier)[:, None], _double(shift)[:, None])
    result: Doubles = scaled.numpy()
    return result


def layer(
    _parameters: Parameters,
    x: Integers,
    weight: Integers,
    bias: Integers,
    multiplier: Integers,
    shift: Integers,
) -> Doubles:
    """Return the layer's int8 outputs, float64 (cases, 16, 32).

    `x` is int8 (cases, 16, 64), `weight` int8 (cases, 64, 32); `bias`, `multiplier` and `shift` are
    int32 (cases, 32).
    """
    sums = torch.matmul(_double(x), _double(weight)) + _double(bias)[:, None]
    result: Doubles = _to_int8(sums, _double(multiplier)[:, None], _double(shift)[:, None]).numpy()
    return result


def expected_workload(variant: str, a: Integers, b: Integers) -> Doubles:
    """Return what the timed function computes, float64 (r, 128, 128).

    `a` is int8 (r, 128, 128): r first arguments; `b` (128, 128) is the same for all. Raises
    KeyError for a name that is not in `VARIANTS`.
    """
    if variant not in VARIANTS:
        raise KeyError(variant)
    return matmul({}, a, b[None])


def _to_int8(sums: torch.Tensor, multiplier: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    """Return sums times multiplier / 2**shift, rounded to the nearest integer, halves upwards, and
    cut off at the ends of int8."""
    steps = torch.exp2(shift)
    rounded = torch.floor((sums * multiplier + steps / 2) / steps)
    return torch.clamp(rounded, LEAST, LARGEST)


def _double(values: Integers) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)
