"""What memory holds until somebody stores there: NaN, an odd number, or true."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def poison_of(dtype: np.dtype[Any]) -> Any:
    """Return the poison of a type."""
    if dtype.kind == "b":
        return dtype.type(True)
    return dtype.type(np.nan if dtype.kind == "f" else np.iinfo(dtype).max // 3)


def poisoned(size: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array of poison."""
    return np.full(size, poison_of(dtype), dtype)
