"""What outputs that differ are told, as far as the numbers or a diagnosis show it."""

from __future__ import annotations

import numpy as np
import pytest

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.evidence.case import Outputs
from grader.evidence.mismatch import WRITE_THE_BUFFER, explain, wrong_samples
from grader.language import join
from tests.evidence.factory import outputs
from tests.render.diagnoses import DIAGNOSIS

FUNCTION = Computation("f", (ArgumentTable((8, 4)),), (TensorTable((8, 4)),))
VALUES = np.random.default_rng(0).standard_normal((6, 8, 4)).astype(np.float32)
EDGE_MISSING = np.where(np.arange(4) == 3, 0, VALUES + 10).astype(np.float32)
ALL = np.ones(6, bool)


def one_nan() -> np.ndarray:
    values = VALUES.copy()
    values[2, 1, 1] = np.nan
    return values


class TestWrongSamples:
    """Which samples are outside of the tolerance."""

    def test_those_that_differ_are_marked(self) -> None:
        actual = VALUES.copy()
        actual[1, 3, 2] += 1e-3
        found = wrong_samples(outputs(actual, VALUES.astype(float)), FUNCTION)
        assert [1] == np.flatnonzero(found).tolist()

    def test_what_is_not_finite_is_wrong_even_if_the_answer_is(self) -> None:
        desired = VALUES.astype(float)
        desired[4, 0, 0] = np.inf
        actual = desired.astype(np.float32)
        actual[2, 0, 0] = np.nan
        assert [2, 4] == np.flatnonzero(wrong_samples(outputs(actual, desired), FUNCTION)).tolist()

    @pytest.mark.parametrize("actual", [VALUES[:, :4], VALUES.astype(np.float64)])
    def test_all_are_where_shape_or_dtype_are_other_ones(self, actual: np.ndarray) -> None:
        assert wrong_samples(outputs(actual, VALUES), FUNCTION).all()


class TestWithoutADiagnosis:
    """The outputs alone speak."""

    @pytest.mark.parametrize(
        ("actual", "seen", "told"),
        [
            (np.zeros_like(VALUES), "6 of 6 samples differ", "the same everywhere"),
            (EDGE_MISSING, "6 of 6 samples differ", "75% of the elements"),
            (VALUES + 30, "6 of 6 samples differ", "No element of these samples is right"),
            (VALUES[:, :, :1], "shape (8, 1), it should be (8, 4)", "Check the last layers"),
            (VALUES.astype(np.float64), "dtype is float64", 'Use "float32"'),
            (one_nan(), "NaN or infinite for 17%", "read before it is written"),
        ],
    )
    def test_each_way_to_differ_has_a_reason_and_a_step(
        self, actual: np.ndarray, seen: str, told: str
    ) -> None:
        problem = explain(outputs(actual, VALUES + 10.0), ALL, FUNCTION, None)
        assert (True, True) == (seen in problem.reason.english, told in problem.hint.english)

    def test_a_function_that_wrote_nothing_is_named(self) -> None:
        problem = explain(outputs(one_nan(), VALUES, ("env.f",)), ALL, FUNCTION, None)
        assert "`env.f` never wrote to its output buffer." in problem.reason.english
        assert WRITE_THE_BUFFER == problem.hint


class TestWithADiagnosis:
    """It takes the place of what can be guessed from the outputs."""

    @pytest.mark.parametrize("unwritten", [(), ("env.f",)])
    def test_the_reason_keeps_what_is_seen_and_gains_the_message(
        self, unwritten: tuple[str, ...]
    ) -> None:
        made: Outputs = outputs(EDGE_MISSING, VALUES + 10.0, unwritten)
        problem = explain(made, ALL, FUNCTION, DIAGNOSIS)
        seen = explain(outputs(EDGE_MISSING, VALUES + 10.0), ALL, FUNCTION, None).reason
        assert join(seen, DIAGNOSIS.message) == problem.reason
        assert DIAGNOSIS.advice == problem.hint
