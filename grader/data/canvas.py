"""Small vector shapes on a stack of 28 x 28 canvases, all images of the stack at once.

A shape is a field: one number for each pixel, positive inside and negative outside, in units of the
garment (about 12 pixels), so that union, intersection and difference are maximum, minimum and
negation. This is the usual algebra of signed distance functions.

Only operations whose result IEEE 754 fixes are used: + - * /, square root, minimum, maximum, floor.
No sine, no exponential, no sums over an axis, because libraries differ in their last bits. So every
machine and every NumPy draws the same bytes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

SIDE = 28
"""Pixels along one side of an image."""

UNIT = 12.0
"""Pixels of one garment unit."""

Field = npt.NDArray[np.float64]
Number = Field | float
"""One number for the whole stack, or one for each image: a field of shape (count, 1, 1)."""


class Draws:
    """Random numbers that no version of NumPy changes.

    Philox is a counter-based generator, and NumPy promises the stream of raw words of a bit
    generator (NEP 19), but not that of `Generator.uniform`. The 53 upper bits of a word are the
    fraction.
    """

    def __init__(self, seed: int, stream: int, count: int) -> None:
        self._words = np.random.Philox(key=(stream << 64) | seed)
        self._count = count

    def fractions(self, *shape: int) -> Field:
        """Return uniform numbers in [0, 1) of the given shape."""
        words = self._words.random_raw(int(np.prod(shape)))
        fractions: Field = ((words >> np.uint64(11)) * 2.0**-53).reshape(shape)
        return fractions

    def vary(self, low: float, high: float) -> Field:
        """Return one number in [low, high) for each image, shape (count, 1, 1)."""
        return low + (high - low) * self.fractions(self._count, 1, 1)

    def chance(self, probability: float) -> npt.NDArray[np.bool_]:
        """Return for each image whether something of this probability happens, (count, 1, 1)."""
        return self.fractions(self._count, 1, 1) < probability


def profile(y: Field, *knots: tuple[Number, Number]) -> Field:
    """Interpolate linearly between `knots` (place, value), constant beyond the first and the last.

    Places ascend.
    """
    value = y * 0.0 + knots[0][1]
    for (start, low), (end, high) in pairwise(knots):
        value = value + (high - low) * np.clip((y - start) / (end - start), 0.0, 1.0)
    return value


def band(values: Field, low: Number, high: Number) -> Field:
    """Return the strip in which `values` lie between `low` and `high`."""
    return np.minimum(values - low, high - values)


def disc(x: Field, y: Field, centre: tuple[Number, Number], radii: tuple[Number, Number]) -> Field:
    """Return an ellipse with axes along x and y."""
    across, along = (x - centre[0]) / radii[0], (y - centre[1]) / radii[1]
    return (1.0 - np.sqrt(across * across + along * along)) * np.minimum(radii[0], radii[1])


def stroke(
    x: Field, y: Field, start: tuple[Number, Number], end: tuple[Number, Number], width: Number
) -> Field:
    """Return a line from `start` to `end` with round ends; `width` is half its breadth."""
    run, rise = end[0] - start[0], end[1] - start[1]
    place = ((x - start[0]) * run + (y - start[1]) * rise) / (run * run + rise * rise)
    place = np.clip(place, 0.0, 1.0)
    across, along = x - start[0] - place * run, y - start[1] - place * rise
    return width - np.sqrt(across * across + along * along)


def join(*shapes: Field) -> Field:
    """Return the union of shapes."""
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = np.maximum(whole, shape)
    return whole


def meet(*shapes: Field) -> Field:
    """Return the intersection of shapes."""
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = np.minimum(whole, shape)
    return whole


def only_where(condition: npt.NDArray[np.bool_], shape: Field) -> Field:
    """Return the shape on the images where the condition holds, nothing on the others."""
    return np.where(condition, shape, -1.0)


def coverage(shape: Field) -> Field:
    """Return how much of each pixel a shape covers, from 0 to 1, with an edge of one pixel."""
    return np.clip(0.5 + shape * UNIT, 0.0, 1.0)


def wave(values: Field) -> Field:
    """Return a triangle wave of period 1 between -1 and 1."""
    return 4.0 * np.abs(values - np.floor(values) - 0.5) - 1.0
