"""The oracle of tensorir, against the same functions written in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from grader.course_code import import_file
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parents[2]
ORACLE = import_file(our_course().get("tensorir").file("oracle.py"), "oracle")
CASES = 3


def integers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-10, 11, (CASES, *shape))


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class TestBroadcastAdd:
    def test_adds_the_vector_to_each_row(self):
        a, b = integers(4, 4), integers(4, seed=1)
        found = ORACLE.broadcast_add({}, a, b)
        assert np.int64 == found.dtype
        for case in range(CASES):
            np.testing.assert_array_equal(a[case] + b[case], found[case])


class TestConv2d:
    def test_slides_each_case_over_its_own_image_without_flipping_it(self):
        data, weight = integers(1, 1, 8, 8), integers(2, 1, 3, 3, seed=1)
        windows = np.lib.stride_tricks.sliding_window_view(data, (3, 3), (-2, -1))
        found = ORACLE.conv2d({}, data, weight)
        assert np.int64 == found.dtype
        np.testing.assert_array_equal(np.einsum("bncyxij,bfcij->bnfyx", windows, weight), found)


class TestBmmRelu:
    def test_multiplies_and_cuts_off_at_zero_in_double_precision(self):
        a, b = floats(CASES, 2, 4, 5), floats(CASES, 2, 5, 6, seed=1)
        found = ORACLE.bmm_relu({}, a, b)
        np.testing.assert_allclose(np.maximum(a.astype(float) @ b, 0), found, rtol=1e-14)

    def test_leaves_the_threads_of_pytorch_as_they_were(self):
        before = torch.get_num_threads()
        ORACLE.bmm_relu({}, floats(1, 1, 2, 2), floats(1, 1, 2, 2), threads=before + 1)
        assert before == torch.get_num_threads()


class TestWorkload:
    def test_multiplies_each_first_argument_by_the_same_second(self):
        a, b = floats(CASES, 2, 4, 5), floats(2, 5, 6, seed=1)
        found = ORACLE.expected_workload("bmm_relu", a, b)
        np.testing.assert_allclose(np.maximum(a.astype(float) @ b, 0), found, rtol=1e-14)

    def test_refuses_a_variant_that_there_is_not(self):
        with pytest.raises(KeyError, match="bmm_tanh"):
            ORACLE.expected_workload("bmm_tanh", floats(1, 1, 2, 2), floats(1, 2, 2))
