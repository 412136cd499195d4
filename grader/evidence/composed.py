"""Layers that a course spells in several operations: a softmax by hand is a softmax.

What is wrong in it can be told as that of the layer, and nothing else of it: to somebody whose
softmax went along another axis, an exponential was what came next, and the softmax was one too
many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from grader.evidence.operations import Layer, Operand, Operation

_CLOSE = 1e-12
"""Two ways to a softmax in double precision differ by less."""


def composed(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers, with the last operation of a softmax by hand as the softmax it is.

    The operations within it, which nothing else takes, become parts of it.
    """
    found = list(layers)
    for place, layer in enumerate(found):
        if layer.operation.kind == "other" and layer.name and layer.value.ndim:
            _fold(place, found)
    return tuple(found)


def _fold(place: int, layers: list[Layer]) -> None:
    """Make an operation the softmax of the first value that it is one of.

    The differences to the largest item have the same softmax as the items.
    """
    within: set[int] = set()
    waiting = _taken(layers[place])
    found: tuple[int, int] | None = None
    while waiting:
        before = max(waiting)
        waiting.discard(before)
        axis = _softmax_axis(layers[before], layers[place])
        if axis is not None:
            found = before, axis
        if layers[before].operation.kind == "other":
            within.add(before)
            waiting |= _taken(layers[before])
    if found is not None:
        _replace(place, *found, {each for each in within if each > found[0]}, layers)


def _taken(layer: Layer) -> set[int]:
    return {each.layer for each in layer.operation.operands if each.layer is not None}


def _softmax_axis(before: Layer, after: Layer) -> int | None:
    """Return the axis, counted from the last one, along which one value is the other's softmax."""
    if before.value.shape != after.value.shape:
        return None
    value = torch.from_numpy(before.value)
    for axis in range(-1, -after.value.ndim - 1, -1):
        if after.value.shape[axis] > 1:
            wanted = torch.softmax(value, axis).numpy()
            if np.allclose(after.value, wanted, rtol=_CLOSE, atol=_CLOSE):
                return axis
    return None


def _replace(place: int, before: int, axis: int, within: set[int], layers: list[Layer]) -> None:
    """Make a softmax of an operation, and parts of what only serves it."""
    operand = Operand(torch.from_numpy(layers[before].value), layer=before)
    operation = Operation("softmax", (operand,), {"axis": axis})
    layers[place] = layers[place]._replace(name="softmax", operation=operation)
    for each in sorted(within, reverse=True):
        takers = {at for at, layer in enumerate(layers) if each in _taken(layer)}
        if all(layers[at].operation.kind == "part" for at in takers):
            part = layers[each].operation._replace(kind="part")
            layers[each] = layers[each]._replace(operation=part, is_partial=True)
