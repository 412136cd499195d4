"""What is right in assignment from-torch, where no model of `models.py` says it.

Only the referee imports this file. Arguments have a leading axis over cases; everything is computed
in double precision, so that no rounding of what is expected eats up a student's tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Parameters = Mapping[str, npt.NDArray[Any]]


def matmul(_parameters: Parameters, a: Floats, b: Floats) -> Doubles:
    """Return the product of (cases, n, k) and (cases, k, m), float64 (cases, n, m)."""
    return np.matmul(a.astype(np.float64), b.astype(np.float64))


def relu(_parameters: Parameters, x: Floats) -> Doubles:
    """Return what is positive of x, and zero elsewhere, float64 of the shape of x."""
    return np.maximum(x.astype(np.float64), 0)


def matmul_relu(parameters: Parameters, a: Floats, b: Floats) -> Doubles:
    """Return the product with its negative items set to zero, float64 (cases, n, m)."""
    return np.maximum(matmul(parameters, a, b), 0)


def matmul_and_relu(parameters: Parameters, a: Floats, b: Floats) -> tuple[Doubles, Doubles]:
    """Return the product, and the product without its negative items: both (cases, n, m)."""
    product = matmul(parameters, a, b)
    return product, np.maximum(product, 0)
