"""What is right in assignment from-torch, where no model of `models.py` says it, said in PyTorch.

Only the referee imports this file. Arguments have a leading axis over cases; everything is computed
in double precision, so that no rounding of what is expected eats up a student's tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Parameters = Mapping[str, npt.NDArray[Any]]


def matmul(_parameters: Parameters, a: Floats, b: Floats) -> Doubles:
    """Return the product of (cases, n, k) and (cases, k, m), float64 (cases, n, m)."""
    return _numpy(torch.matmul(_double(a), _double(b)))


def relu(_parameters: Parameters, x: Floats) -> Doubles:
    """Return what is positive of x, and zero elsewhere, float64 of the shape of x."""
    return _numpy(torch.relu(_double(x)))


def matmul_relu(_parameters: Parameters, a: Floats, b: Floats) -> Doubles:
    """Return the product with its negative items set to zero, float64 (cases, n, m)."""
    return _numpy(torch.relu(torch.matmul(_double(a), _double(b))))


def matmul_and_relu(_parameters: Parameters, a: Floats, b: Floats) -> tuple[Doubles, Doubles]:
    """Return the product, and the product without its negative items: both (cases, n, m)."""
    product = torch.matmul(_double(a), _double(b))
    return _numpy(product), _numpy(torch.relu(product))


def _double(values: npt.NDArray[Any]) -> torch.Tensor:
    """Return a copy as a float64 tensor: the caller's array is never shared with PyTorch."""
    return torch.tensor(values, dtype=torch.float64)


def _numpy(values: torch.Tensor) -> Doubles:
    array: Doubles = values.numpy()
    return array
