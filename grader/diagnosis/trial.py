"""Trying an advice before it is given: what its mistake foretells of the steps that come after.

Two things may give the same numbers up to a step. Who has a softmax where PyTorch's exponential is
next has one too many, or has one along another axis: that shows in what is computed from it. So an
advice to take a step out is given only where all the rest, without that step, is PyTorch's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grader.diagnosis.mistakes_numbers import Found, Values
from grader.diagnosis.program import Change, Program, numbers
from grader.diagnosis.values import Doubles, is_equal, is_rearranged, known

DOUBTFUL = frozenset(
    {"softmax_extra", "relu_extra", "layer_repeated", "bias_twice", "order_swapped"}
)
"""Mistakes that say of a step that it should not be there, or not yet. All others are the layer
itself with something changed: without that, the step's numbers are the layer's."""


def stands_the_trial(
    one: Change, place: int, found: Found, program: Program, tolerance: float
) -> bool:
    """Say whether a value would be right with a change taken back, and what is computed from it.

    `place` is the layer that has the value's numbers after the change.
    """
    if one.kind not in DOUBTFUL or found.after is None:
        return True
    if one.kind == "bias_twice" and place in one.computes:
        return True  # what is added once too often is the bias
    if found.is_result:
        return place == last_output(program)
    return any(_is_foretold(value, one, place, found, program, tolerance) for value in found.after)


def is_borne_out(one: Change, place: int, found: Found, program: Program, tolerance: float) -> bool:
    """Say whether a change that gives a value only in a later layer gives the last value too.

    A step may do several layers at once. But who takes the ReLU of a product before the bias is
    added has the same numbers as who forgets the bias and takes the ReLU in its place.
    """
    if place <= max(one.computes) or not found.after:
        return True
    return _is_foretold(found.after[-1], one, place, found, program, tolerance)


def last_output(program: Program) -> int | None:
    """Return the last layer that is an output, or the last of all where none is marked."""
    named = [place for place, layer in enumerate(program.layers) if layer.name]
    marked = [place for place in named if program.layers[place].output is not None]
    return max(marked or named, default=None)


def foretold(one: Change, size: int, program: Program) -> Mapping[int, Doubles]:
    """Return the values of `size` numbers that a change gives, by the places of their layers."""
    return dict(program.changed(one, size))


def _is_foretold(
    value: Values, one: Change, place: int, found: Found, program: Program, tolerance: float
) -> bool:
    """Say whether a later value is that of a later layer, and neither right nor the same again."""
    given = numbers(found.value)
    for at, other in foretold(one, value.size, program).items():
        if at <= place or not np.isfinite(other).all():
            continue
        if is_equal(other, known(program.layers[at].value), tolerance):
            continue
        if other.size == given.size and is_equal(other, known(given), tolerance):
            continue
        shaped = other.reshape(value.shape)
        if program.layers[at].value.size == other.size:
            shaped = other.reshape(program.layers[at].value.shape)
        if is_equal(numbers(value), known(shaped), tolerance):
            return True
        if is_rearranged(value, known(shaped), tolerance):
            return True
    return False
