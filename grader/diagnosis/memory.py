"""Is it the memory that was there before? Tried by running the module on memory full of zeros.

Every output holds NaN until it is written, so a sum that is not initialised is NaN. So are 0 / 0, a
difference of two infinities and the logarithm of a negative number; and of huge numbers, which may
stand in memory that a function has for itself, an exponential is one. What was never written is 0
where the memory held zeros, and a sum that begins with 0 is right: nothing else is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grader.diagnosis.align import Alignment
from grader.diagnosis.matching import Observed
from grader.diagnosis.program import numbers
from grader.diagnosis.values import TOLERANCE, is_equal, is_rearranged, known
from grader.evidence.operations import Layer

_KINDS = frozenset({"sum_not_initialised", "partly_written"})


def of_memory(alignment: Alignment) -> bool:
    """Say whether a mistake says of floats what was in the memory: that has yet to be tried.

    A sum of twice the right numbers went on where the last one ended, which was tried.
    """
    mistake = alignment.mistake
    return mistake is not None and mistake.kind in _KINDS and "times" not in mistake.facts


def tried_on_zeros(
    alignment: Alignment,
    steps: Sequence[Observed],
    cleared: Sequence[Observed],
    layers: Sequence[Layer],
) -> Alignment:
    """Return an alignment without its mistake, unless the run on zeros bears that out.

    `cleared` are the same steps where the memory held zeros.
    """
    assert alignment.mistake is not None
    wrong = alignment.wrong
    if wrong is None or len(cleared) != len(steps):
        return alignment._replace(mistake=None)
    before, after = steps[wrong].value, cleared[wrong].value
    if before is None or after is None or before.shape != after.shape:
        return alignment._replace(mistake=None)
    if before.dtype.kind != "f":  # whole numbers: the memory's own is subtracted
        return alignment
    if alignment.mistake.kind == "partly_written":
        stays = np.where(np.isnan(before), 0, before)
        is_borne_out = np.array_equal(stays, after)
    else:
        reached = alignment.matched[:wrong]
        ahead = [at for at, each in enumerate(layers) if each.name and at not in reached]
        is_borne_out = any(_is(after, layers[at]) for at in ahead)
    return alignment if is_borne_out else alignment._replace(mistake=None)


def _is(value: npt.NDArray[np.generic], layer: Layer) -> bool:
    """Say whether a value is a layer's: a product without its bias is a layer, too."""
    right = known(layer.value)
    return is_equal(numbers(value), right, TOLERANCE) or is_rearranged(value, right)
