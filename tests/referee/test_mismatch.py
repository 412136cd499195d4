"""What outputs that differ are told, as far as the numbers show it."""

from __future__ import annotations

import numpy as np
import pytest

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.referee.mismatch import explain
from tests.referee.factory import outputs

FUNCTION = Computation("f", (ArgumentTable((8, 4)),), (TensorTable((8, 4)),))
VALUES = np.random.default_rng(0).standard_normal((6, 8, 4))
POSITIVE = np.maximum(VALUES, 0)
EDGE_MISSING = np.where(np.arange(4) == 3, 0, VALUES + 10)


@pytest.mark.parametrize(
    ("actual", "desired", "told"),
    [
        (np.zeros_like(VALUES), VALUES, "the same everywhere"),
        (VALUES, POSITIVE, "the ReLU is missing"),
        (POSITIVE, VALUES, "a ReLU too many"),
        (EDGE_MISSING, VALUES + 10, "75% of the elements"),
        (VALUES + 1, VALUES, "No element of these samples is right"),
    ],
)
def test_tensors_that_differ(actual: np.ndarray, desired: np.ndarray, told: str) -> None:
    wrong = np.ones(6, bool)
    assert told in explain(outputs(actual, desired), wrong, FUNCTION)[1]
