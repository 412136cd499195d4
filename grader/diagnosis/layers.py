"""PyTorch's layers: when values are the same, and what a change does.

Everything compares in double precision, on numbers in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.evidence.operations import SIDE_KINDS, Compute, Layer, Tensor
from grader.report import MistakeKind

# --- equal values ---------------------------------------------------------------------------------
# When two values are the same: by their numbers, whatever axes they are spread over.


TOLERANCE = 2e-5
"""Largest difference between equal values, relative to the largest number of the right one.

A sum of thousands of products in float32 is off by less than 1e-5 of what it adds up (2**-24 for
each rounding, whose signs differ); float16 is off by 2**-11 = 5e-4.
"""

Doubles = npt.NDArray[np.float64]


def tolerance_of(dtype: str) -> float:
    """Return the largest difference between equal values where outputs have a dtype: what is
    rounded to 11 or 8 bits on the way is off by more than what float32 leaves."""
    return {"float16": 5e-3, "bfloat16": 4e-2}.get(dtype, TOLERANCE)


class KnownValue(NamedTuple):
    """A value of PyTorch, ready to be compared with: its numbers in a row, and how large they are.

    `scale` is the largest, but for the number that a mask fills in.
    """

    shape: tuple[int, ...]
    numbers: Doubles
    scale: float
    is_trivial: bool


def known(value: npt.NDArray[Any]) -> KnownValue:
    """Return what is needed to compare with a value. All equal numbers are trivial.

    Nothing is equal to a value with NaN or +inf: its scale is NaN. -inf is what a mask fills in.
    """
    with np.errstate(invalid="ignore"):  # what was never written may be a signalling NaN
        numbers = np.asarray(value, np.float64).reshape(-1)
    filled = np.isneginf(numbers)
    if filled.any() and np.isfinite(numbers[~filled]).all() and not filled.all():
        return KnownValue(value.shape, numbers, float(np.abs(numbers[~filled]).max()), False)
    if not np.isfinite(numbers).all():
        return KnownValue(value.shape, numbers, float("nan"), False)
    scale = _scale(numbers)
    # Zeros behind a ReLU that cuts everything are like anybody's zeros: they prove nothing of the
    # step, and nothing of what it is computed from.
    spread = float(np.ptp(numbers)) if numbers.size else 0.0
    return KnownValue(value.shape, numbers, scale, spread <= TOLERANCE * scale)


_FILLED = 1e6
"""What a mask fills in is below 0 by more than this, and by this factor larger than all else."""


def _scale(numbers: Doubles) -> float:
    """Return the largest size of some numbers. Beside -1e9, scores of any size were the same."""
    sizes = np.abs(numbers)
    largest = float(sizes.max(initial=0.0))
    others = sizes[numbers > -largest / 2]  # less a row's largest, they differ from row to row
    rest = float(others.max(initial=0.0))
    return rest if largest > _FILLED * max(rest, 1.0) and rest else largest


_VANISHES = 1e3
"""The exponential of the negative of this is 0, also in double precision."""


def is_equal(found: Doubles, wanted: KnownValue, tolerance: float = TOLERANCE) -> bool:
    """Say whether numbers in a row are those of a value. NaN and +inf never are."""
    if found.size != wanted.numbers.size or np.isnan(wanted.scale):
        return False
    return bool(near(found, wanted, tolerance).all())


def near(found: Doubles, wanted: KnownValue, tolerance: float = TOLERANCE) -> npt.NDArray[np.bool_]:
    """Say which numbers in a row are those of a value, of as many; none is where either is NaN.

    For -inf any number counts of which a softmax makes 0: students fill in -1e9 or the least float.
    """
    filled = np.isneginf(wanted.numbers)
    right = np.where(filled, 0, wanted.numbers)
    with np.errstate(invalid="ignore"):
        is_near = np.abs(found - right) <= tolerance * np.maximum(wanted.scale, np.abs(right))
        is_gone: npt.NDArray[np.bool_] = found <= -_VANISHES - 2 * wanted.scale
    return np.where(filled, is_gone, is_near)


def is_rearranged(
    found: npt.NDArray[Any], wanted: KnownValue, tolerance: float = TOLERANCE
) -> bool:
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


# --- operations changed ---------------------------------------------------------------------------
# What PyTorch does with one operation changed: the values of the operations after it.


DOES_NOT_FIT = (RuntimeError, IndexError, ValueError)
"""What PyTorch raises where shapes do not fit: a change that cannot have been made."""


class Change(NamedTuple):
    """One mistake that could have been made: its kind, and the operations that it changes.

    `place` is that of the layer which it is about. `computes` has for each changed layer a function
    of the values of its operands. `facts` are the numbers that a sentence about it names. `size` is
    how many numbers it gives, None where that is not known before it is done.
    """

    kind: MistakeKind
    place: int
    computes: Mapping[int, Compute]
    facts: Mapping[str, Any]
    size: int | None = None


def change(kind: MistakeKind, place: int, compute: Compute, **facts: Any) -> Change:
    """Return a change of the operation at `place`; `facts` are named in the sentence about it."""
    return Change(kind, place, {place: compute}, facts)


class Program:
    """The layers of PyTorch, of which some can be computed otherwise.

    `computed` counts the numbers that were, for those who want to know when to stop. `indices` are
    numbers that stand in the student's module where a buffer is read.
    """

    def __init__(self, layers: Sequence[Layer], indices: Sequence[int] = ()) -> None:
        self.layers = tuple(layers)
        self.indices = tuple(indices)
        self.computed = 0
        self.takes = tuple(
            tuple(each.layer for each in layer.operation.operands if each.layer is not None)
            for layer in layers
        )

    def needed_for(self, places: Sequence[int]) -> frozenset[int]:
        """Return these layers and all that they are computed from."""
        found: set[int] = set()
        waiting = list(places)
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting += self.takes[place]
        return frozenset(found)

    def next_of(self, place: int) -> int | None:
        """Return the first layer that takes this one and is more than a part of another."""
        for after in range(place + 1, len(self.layers)):
            # The parts of a softmax take its operand as well, and are no layer that anybody leaves
            # out.
            if place in self.takes[after] and not self.is_side(after):
                return after
        return None

    def is_side(self, place: int) -> bool:
        """Say whether nothing is computed from a layer: it is there to be recognised."""
        return self.layers[place].operation.kind in SIDE_KINDS

    def changed(self, one: Change, size: int) -> Iterator[tuple[int, Doubles]]:
        """Return the values of `size` numbers that follow from a change, each with its place.

        Values that are the right ones are left out: a change that changes nothing is no mistake.
        Behind zeros in place of other numbers nothing is looked for: that a branch of a sum is not
        there is what any change would give that makes zeros of it.
        """
        if one.size not in (None, size, self.layers[one.place].value.size):
            return  # layers after it do not fit
        values: dict[int, Tensor] = {}
        alike = [each for each, layer in enumerate(self.layers) if layer.value.size == size]
        # As long as all shapes are right, it is known where values of `size` numbers can be: behind
        # the last of them nothing need be computed.
        keeps_shapes = True
        for place in range(min(one.computes), len(self.layers)):
            compute = one.computes.get(place)
            if not self._is_changed(place, compute, values):
                continue
            if keeps_shapes and place > max((*one.computes, *alike[-1:])):
                return  # what follows has as many numbers as it should, and `size` is not among it
            value = self._value(place, compute, values)
            if value is None:
                return
            values[place] = value
            self.computed += value.numel()
            if self.layers[place].name and not value.any() and self.layers[place].value.any():
                return
            keeps_shapes = keeps_shapes and value.numel() == self.layers[place].value.size
            if value.numel() == size:
                yield place, value.detach().reshape(-1).numpy()

    def following(self, one: Change) -> dict[int, npt.NDArray[Any]]:
        """Return the values that follow from a change, by place, up to one that does not fit."""
        values: dict[int, Tensor] = {}
        for place in range(min(one.computes), len(self.layers)):
            compute = one.computes.get(place)
            if not self._is_changed(place, compute, values):
                continue
            value = self._value(place, compute, values)
            if value is None:
                break
            values[place] = value
            self.computed += value.numel()
        return {place: each.detach().numpy() for place, each in values.items()}

    def _is_changed(
        self, place: int, compute: Compute | None, values: Mapping[int, Tensor]
    ) -> bool:
        """Say whether a layer is computed otherwise, or takes one of the values that changed."""
        is_reached = compute is not None or any(each in values for each in self.takes[place])
        return is_reached and not self.is_side(place)

    def _value(self, place: int, compute: Compute | None, values: Mapping[int, Tensor]) -> Tensor:
        """Return a layer's value on changed operands, None where their shapes do not fit."""
        operation = self.layers[place].operation
        given = [
            values.get(each.layer, each.value) if each.layer is not None else each.value
            for each in operation.operands
        ]
        try:
            return (compute or operation.compute)(*given)
        except DOES_NOT_FIT:
            return None


def same(value: Tensor, *_others: Tensor) -> Tensor:
    """Return the first operand as it is: an operation that is left out."""
    return value


def after(first: Compute, second: Callable[[Tensor], Tensor]) -> Compute:
    """Return a function of `first`'s operands that does `second` on what `first` gives."""
    return lambda *values: second(first(*values))


def numbers(value: Any) -> Doubles:
    """Return a value's numbers in a row, float64, shape (items,)."""
    with np.errstate(invalid="ignore"):  # what was never written may be a signalling NaN
        return np.asarray(value, np.float64).reshape(-1)
