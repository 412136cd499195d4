"""A result that is too long or too short along one axis, and that nothing else explains."""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnosis.align import Alignment, Observed
from grader.diagnosis.mistakes import LikelyMistake
from grader.evidence.operations import Layer


def with_other_extent(
    alignment: Alignment, steps: Sequence[Observed], layers: Sequence[Layer]
) -> Alignment:
    """Return an alignment that names the axis along which the wrong step's shape is another."""
    wrong, place = alignment.wrong, alignment.expected
    if wrong is None or place is None or alignment.mistake is not None:
        return alignment
    value = steps[wrong].value
    found, wanted = () if value is None else value.shape, layers[place].value.shape
    if found in _taken(wrong, steps, layers):
        return alignment  # a step of its own between two layers, and none of another extent
    axes = [axis for axis, pair in enumerate(zip(found, wanted, strict=False)) if len({*pair}) > 1]
    if len(found) != len(wanted) or len(axes) != 1:
        return alignment
    told = {"axis": axes[0], "found": found[axes[0]], "wanted": wanted[axes[0]]}
    named = LikelyMistake("other_extent", layers[place].name, told, place)
    return alignment._replace(mistake=named)


def _taken(wrong: int, steps: Sequence[Observed], layers: Sequence[Layer]) -> set[tuple[int, ...]]:
    """Return the shapes of what a step takes; where that are arguments, of all of them."""
    values = [steps[each].value for each in steps[wrong].takes]
    shapes = {each.shape for each in values if each is not None}
    if steps[wrong].takes_input:
        operands = (each for layer in layers for each in layer.operation.operands)
        shapes |= {tuple(each.value.shape) for each in operands if each.argument is not None}
    return shapes
