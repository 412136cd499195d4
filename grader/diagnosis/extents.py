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
    axes = [axis for axis, pair in enumerate(zip(found, wanted, strict=False)) if len({*pair}) > 1]
    if len(found) != len(wanted) or len(axes) != 1:
        return alignment
    told = {"axis": axes[0], "found": found[axes[0]], "wanted": wanted[axes[0]]}
    named = LikelyMistake("other_extent", layers[place].name, told, place)
    return alignment._replace(mistake=named)
