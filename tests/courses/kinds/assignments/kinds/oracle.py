"""What is right in assignment kinds; arrays have a leading axis over the cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
Parameters = Mapping[str, Values]


def product(_parameters: Parameters, a: Values, b: Values) -> Values:
    """Return the products of (cases, 3, 4) and (cases, 4, 5), float64."""
    return np.matmul(a.astype(np.float64), b.astype(np.float64))


def add(_parameters: Parameters, a: Values, b: Values) -> Values:
    """Return (cases, 4, 4) plus (cases, 4) in every row, int64."""
    return np.asarray(a + b[:, None, :])


def bmm_relu(_parameters: Parameters, a: Values, b: Values) -> Values:
    """Return what is positive of the products, float64 (cases, 2, 8, 8)."""
    return np.maximum(np.matmul(a.astype(np.float64), b.astype(np.float64)), 0)


def both(parameters: Parameters, a: Values, b: Values) -> tuple[Values, Values]:
    """Return the products, and what is positive of them: both float64 (cases, 3, 5)."""
    products = product(parameters, a, b)
    return products, np.maximum(products, 0)


def dense(_parameters: Parameters, x: Values, w: Values) -> Values:
    """Return what is positive of the layer's output, float64 (cases, 4, 16)."""
    return np.maximum(np.einsum("nik,nok->nio", x.astype(np.float64), w.astype(np.float64)), 0)
