"""What PyTorch does with one operation changed: the values of the operations after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from grader.diagnosis.values import Doubles
from grader.evidence.operations import SIDE_KINDS, Compute, Layer, Tensor

DOES_NOT_FIT = (RuntimeError, IndexError, ValueError)
"""What PyTorch raises where shapes do not fit: a change that cannot have been made."""


class Change(NamedTuple):
    """One mistake that could have been made: its kind, and the operations that it changes.

    `place` is that of the layer which it is about. `computes` has for each changed layer a function
    of the values of its operands. `facts` are the numbers that a sentence about it names. `size` is
    how many numbers it gives, None where that is not known before it is done.
    """

    kind: str
    place: int
    computes: Mapping[int, Compute]
    facts: Mapping[str, Any]
    size: int | None = None


def change(kind: str, place: int, compute: Compute, **facts: Any) -> Change:
    """Return a change of one operation."""
    return Change(kind, place, {place: compute}, facts)


class Program:
    """The layers of PyTorch, of which some can be computed otherwise.

    `computed` counts the numbers that were, for those who want to know when to stop.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = tuple(layers)
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
            if place in self.takes[after] and not self.is_side(after):
                return after
        return None

    def is_side(self, place: int) -> bool:
        """Say whether nothing is computed from a layer: it is there to be recognised."""
        return self.layers[place].operation.kind in SIDE_KINDS

    def changed(self, one: Change, size: int) -> Iterator[tuple[int, Doubles]]:
        """Return the values of `size` numbers that follow from a change, each with its place.

        Values that are the right ones are left out: a change that changes nothing is no mistake.
        """
        if one.size not in (None, size, self.layers[one.place].value.size):
            return  # layers after it do not fit
        values: dict[int, Tensor] = {}
        alike = [each for each, layer in enumerate(self.layers) if layer.value.size == size]
        keeps_shapes = True
        for place in range(min(one.computes), len(self.layers)):
            compute = one.computes.get(place)
            if compute is None and not any(each in values for each in self.takes[place]):
                continue
            if self.is_side(place):
                continue
            if keeps_shapes and place > max((*one.computes, *alike[-1:])):
                return  # what follows has as many numbers as it should, and `size` is not among it
            value = self._value(place, compute, values)
            if value is None:
                return
            values[place] = value
            self.computed += value.numel()
            keeps_shapes = keeps_shapes and value.numel() == self.layers[place].value.size
            if value.numel() == size:
                yield place, value.detach().reshape(-1).numpy()

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
    """Return one function after another."""
    return lambda *values: second(first(*values))


def numbers(value: Any) -> Doubles:
    """Return a value's numbers in a row."""
    with np.errstate(invalid="ignore"):  # what was never written may be a signalling NaN
        return np.asarray(value, np.float64).reshape(-1)
