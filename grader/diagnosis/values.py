"""When two values are the same: by their numbers, whatever axes they are spread over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

TOLERANCE = 2e-5
"""Largest difference between equal values, relative to the largest number of the right one.

A sum of thousands of products in float32 is off by less than 1e-5 of what it adds up (2**-24 for
each rounding, whose signs differ); float16 is off by 2**-11 = 5e-4.
"""

Doubles = npt.NDArray[np.float64]


class Known(NamedTuple):
    """A value of PyTorch, ready to be compared with: its numbers in a row, and the largest."""

    shape: tuple[int, ...]
    numbers: Doubles
    scale: float
    is_trivial: bool


def known(value: npt.NDArray[Any]) -> Known:
    """Return what is needed to compare with a value. All equal numbers are trivial.

    Nothing is equal to a value that is not finite everywhere: its scale is NaN.
    """
    with np.errstate(invalid="ignore"):  # what was never written may be a signalling NaN
        numbers = np.asarray(value, np.float64).reshape(-1)
    if not np.isfinite(numbers).all():
        return Known(value.shape, numbers, float("nan"), False)
    scale = float(np.abs(numbers).max(initial=0.0))
    spread = float(np.ptp(numbers)) if numbers.size else 0.0
    return Known(value.shape, numbers, scale, spread <= TOLERANCE * scale)


def is_equal(found: Doubles, wanted: Known, tolerance: float = TOLERANCE) -> bool:
    """Say whether numbers in a row are those of a value. Numbers that are not finite never are."""
    if found.size != wanted.numbers.size or np.isnan(wanted.scale):
        return False
    difference = float(np.abs(found - wanted.numbers).max(initial=0.0))
    return difference <= tolerance * wanted.scale  # False where either is NaN


def is_rearranged(found: npt.NDArray[Any], wanted: Known, tolerance: float = TOLERANCE) -> bool:
    """Say whether a value is another one with its channels last, or its last two axes exchanged."""
    if found.size != wanted.numbers.size or len(wanted.shape) < 2 or wanted.is_trivial:
        return False
    right = wanted.numbers.reshape(wanted.shape)
    others = [right.swapaxes(-1, -2)]
    if right.ndim > 2:
        others.append(np.moveaxis(right, -3, -1))
    numbers = np.asarray(found, np.float64).reshape(-1)
    return any(
        is_equal(numbers, wanted._replace(numbers=each.reshape(-1)), tolerance)
        for each in others
        if each.shape == found.shape
    )
