"""A result with another extent along one axis is held against the layer that it is meant to be."""

from __future__ import annotations

import numpy as np
import pytest

from grader.diagnosis.align import Alignment, Observed, align
from grader.diagnosis.extents import with_other_extent
from grader.evidence.operations import Layer
from grader.evidence.recorder import record
from tests.diagnosis.network import Values, double
from tests.seeded import seeded

GENERATOR = seeded(3)
X, W, S = (GENERATOR.standard_normal(s).astype(np.float32) for s in ((4, 6), (6, 5), (5,)))


def layers() -> tuple[Layer, ...]:
    """Return a product, scaled by the exponentials of a vector, in PyTorch."""

    def scaled() -> Values:
        x, w, s = double(X), double(W), double(S)
        result: Values = ((x @ w) / s.exp().reshape(1, -1)).clamp(-1, 1).numpy()
        return result

    return record(scaled, [X, W, S])


def told(value: Values) -> Alignment:
    steps = [Observed("lv", "f", value.astype(np.float32), (), takes_input=True)]
    return with_other_extent(align(steps, layers()), steps, layers())


@pytest.mark.parametrize(("axis", "shape"), [(1, (4, 4)), (0, (3, 5)), (1, (4, 7))])
def test_the_axis_is_named(axis: int, shape: tuple[int, int]) -> None:
    found = told(1 + GENERATOR.standard_normal(shape) ** 2)
    assert found.mistake is not None
    wanted = (4, 5)
    assert ("other_extent", "clamp") == found.mistake[:2]
    assert {"axis": axis, "found": shape[axis], "wanted": wanted[axis]} == found.mistake.facts


def test_of_two_other_extents_nothing_is_told() -> None:
    assert told(1 + GENERATOR.standard_normal((3, 4)) ** 2).mistake is None


def test_a_step_that_keeps_the_shape_of_what_it_takes_has_no_other_extent() -> None:
    """It stands between two layers: PyTorch's next one has another shape."""
    x, w = X, W[:, :4]

    def computed() -> Values:
        result: Values = (double(x).sigmoid() @ double(w)).numpy()
        return result

    right = record(computed, [x, w])
    first = right[0].value.astype(np.float32)
    steps = [
        Observed("lv", "sigmoid", first, (), takes_input=True),
        Observed("lv1", "multiply", first * first, (0,)),
        Observed("lv2", "matmul", (first * first) @ w, (1,)),
    ]
    found = with_other_extent(align(steps, right), steps, right)
    assert (1, None) == (found.wrong, found.mistake)
