"""When two values are the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from grader.diagnosis.layers import is_equal, is_rearranged, known, numbers
from tests.diagnosis.network import noise


@pytest.mark.parametrize(("factor", "equal"), [(1 + 1e-6, True), (1 + 1e-4, False), (-1, False)])
def test_equal_up_to_the_rounding_of_float32(factor: float, equal: bool) -> None:
    value = noise(3, 4)
    assert equal is is_equal(numbers(factor * value), known(value))


def test_small_numbers_are_compared_by_the_largest() -> None:
    wanted = known(np.array([1000.0, 0.0]))
    assert is_equal(np.array([1000.0, 0.01]), wanted)
    assert not is_equal(np.array([1000.0, 0.1]), wanted)


def test_zeros_are_equal_to_zeros_alone() -> None:
    wanted = known(np.zeros(4))
    assert wanted.is_trivial
    assert is_equal(np.zeros(4), wanted)
    assert not is_equal(np.full(4, 1e-30), wanted)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_nothing_is_equal_to_nan_or_infinity(number: float) -> None:
    odd = np.array([number, 1.0])
    assert not is_equal(odd, known(np.ones(2)))
    assert not is_equal(np.array([0.0, 1.0]), known(odd))
    assert not is_equal(odd, known(odd))


def test_as_many_numbers_in_another_shape_are_equal_and_fewer_are_not() -> None:
    value = noise(2, 3, 4)
    assert is_equal(numbers(value.reshape(6, 4)), known(value))
    assert not is_equal(numbers(value[0]), known(value))


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 2, 0)])
def test_another_order_of_axes_is_known(axes: tuple[int, ...]) -> None:
    value = noise(2, 3, 4)
    assert is_rearranged(value.transpose(axes), known(value))
    assert not is_rearranged(value[::-1].transpose(axes), known(value))


def test_memory_that_nobody_wrote_is_read_without_a_warning() -> None:
    stale = np.full(3, 0x7FA5A5A5, np.uint32).view(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(numbers(stale)).all()
        assert np.isnan(known(stale).scale)


def test_what_a_mask_fills_in_hides_no_other_number() -> None:
    scores = np.random.default_rng(3).standard_normal((6, 6))
    future = np.triu(np.ones((6, 6), bool), 1)
    right, turned = np.where(future, -1e9, scores), np.where(future, -1e9, scores.T)
    assert is_equal(right.astype(np.float32).reshape(-1), known(right))
    assert not is_equal(turned.reshape(-1), known(right))
    assert not is_rearranged(np.where(future.T, -1e9, scores), known(right))
    shifted = right - right.max(1, keepdims=True)
    assert 4 > known(right).scale
    assert not is_equal(turned.reshape(-1), known(shifted))


@pytest.mark.parametrize("filled", [-np.inf, -1e4, -1e9, float(np.finfo(np.float32).min)])
def test_a_mask_of_infinity_may_be_filled_with_any_number_that_a_softmax_drops(
    filled: float,
) -> None:
    scores = np.random.default_rng(3).standard_normal((6, 6))
    future = np.triu(np.ones((6, 6), bool), 1)
    wanted = known(np.where(future, -np.inf, scores))
    assert is_equal(np.where(future, filled, scores).reshape(-1), wanted)
    assert not is_equal(np.where(future, filled, 2 * scores).reshape(-1), wanted)
    assert not is_equal(np.where(future.T, filled, scores).reshape(-1), wanted)


@pytest.mark.parametrize("filled", [0.0, -10.0, np.nan, np.inf])
def test_a_mask_of_infinity_is_not_filled_with_a_number_that_counts(filled: float) -> None:
    wanted = known(np.array([-np.inf, 1.0, 2.0]))
    assert not is_equal(np.array([filled, 1.0, 2.0]), wanted)
