"""The right outputs of assignment gpu, computed by PyTorch.

Only the referee imports this file: it never enters a sandbox. Arguments and results have a leading
axis over the cases, and are computed in double precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Parameters = Mapping[str, npt.NDArray[Any]]
"""The parameter file's arrays: this assignment has none."""

Floats = npt.NDArray[np.float32]
Right = npt.NDArray[np.float64]

WINDOW = 9


def add(_parameters: Parameters, a: Floats, b: Floats) -> Right:
    """Return the sums of vectors, float64 (cases, 4000)."""
    result: Right = (_double(a) + _double(b)).numpy()
    return result


def window(_parameters: Parameters, a: Floats) -> Right:
    """Return the sums of nine neighbours, float64 (cases, 4096); `a` is (cases, 4104)."""
    result: Right = _double(a).unfold(1, WINDOW, 1).sum(dim=2).numpy()
    return result


def matmul(_parameters: Parameters, a: Floats, b: Floats) -> Right:
    """Return the products of matrices, float64 (cases, 128, 128)."""
    result: Right = torch.bmm(_double(a), _double(b)).numpy()
    return result


def conv(_parameters: Parameters, x: Floats, w: Floats) -> Right:
    """Return the convolutions without padding, float64 (cases, 4, 32, 26, 26).

    `x` is float32 (cases, 4, 1, 28, 28), `w` (cases, 32, 1, 3, 3), another one for each case.
    """
    cases = zip(_double(x), _double(w), strict=True)
    results = [torch.nn.functional.conv2d(images, filters) for images, filters in cases]
    return torch.stack(results).numpy()


def sums(_parameters: Parameters, a: Floats) -> Right:
    """Return the sum of each row, float64 (cases, 64); `a` is (cases, 64, 256)."""
    result: Right = _double(a).sum(dim=2).numpy()
    return result


def _double(values: npt.NDArray[Any]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)
