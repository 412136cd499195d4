"""The oracle of e2e-conv, against the same network written in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from grader.course_code import import_file
from grader.errors import DataError
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parents[2]
ORACLE = import_file(our_course().get("e2e-conv").file("oracle.py"), "oracle")


def random_parameters(seed=0):
    generator = np.random.default_rng(seed)
    return {
        name: (0.1 * generator.standard_normal(shape)).astype(np.float32)
        for name, (_, shape) in ORACLE.PARAMETERS.items()
    }


def random_images(*leading, seed=1):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((*leading, 1, 28, 28)).astype(np.float32)


def convolve(images, weight):
    """Slide the window over images (..., 1, 28, 28), in double precision."""
    windows = np.lib.stride_tricks.sliding_window_view(images.astype(float), (3, 3), (-2, -1))
    return np.einsum("...cyxij,fcij->...fyx", windows, weight.astype(float))


def classify(parameters, images):
    """Return class probabilities float64 (n, 10), layer by layer in NumPy."""
    maps = convolve(images, parameters["conv2d_weight"])
    maps = np.maximum(maps + parameters["conv2d_bias"][:, None, None], 0)
    pooled = maps.reshape(len(images), 32, 13, 2, 13, 2).max(axis=(3, 5)).reshape(len(images), -1)
    hidden = pooled @ parameters["linear0_weight"].T.astype(float) + parameters["linear0_bias"]
    hidden = np.maximum(hidden, 0)
    scores = hidden @ parameters["linear1_weight"].T.astype(float) + parameters["linear1_bias"]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


class TestModel:
    def test_gives_float32_probabilities(self):
        with torch.no_grad():
            output = ORACLE.model(random_parameters())(torch.from_numpy(random_images(3)))
        assert ((3, 10), torch.float32) == (tuple(output.shape), output.dtype)
        np.testing.assert_allclose(output.sum(dim=1), 1, rtol=1e-6)

    def test_is_in_evaluation_mode(self):
        assert not ORACLE.model(random_parameters()).training

    def test_keeps_a_copy_of_the_parameters(self):
        parameters = random_parameters()
        network = ORACLE.model(parameters)
        parameters["conv2d_weight"][:] = 0
        assert network[0].weight.abs().min() > 0

    @pytest.mark.parametrize("name", sorted(ORACLE.PARAMETERS))
    def test_refuses_parameters_that_lack_an_array_and_names_it(self, name):
        parameters = random_parameters()
        del parameters[name]
        with pytest.raises(DataError, match=name):
            ORACLE.model(parameters)

    def test_refuses_an_array_of_another_shape(self):
        parameters = random_parameters() | {"linear0_bias": np.zeros((1, 100), np.float32)}
        with pytest.raises(DataError, match=r"linear0_bias has shape \(1, 100\).*\(100,\)"):
            ORACLE.model(parameters)


class TestExpected:
    def test_equals_the_network_in_numpy(self):
        parameters, images = random_parameters(), random_images(5)
        actual = ORACLE.expected(parameters, images)
        assert np.float64 == actual.dtype
        np.testing.assert_allclose(actual, classify(parameters, images), rtol=1e-12)

    @pytest.mark.parametrize("extra", [-1, 0, 1])
    def test_does_not_depend_on_where_chunks_end(self, extra):
        parameters, images = random_parameters(), random_images(ORACLE.CHUNK + extra)
        alone = np.concatenate([ORACLE.expected(parameters, image[None]) for image in images[-2:]])
        actual = ORACLE.expected(parameters, images)
        assert (len(images), 10) == actual.shape
        np.testing.assert_allclose(actual[-2:], alone, rtol=1e-12)

    def test_of_no_images_is_empty(self):
        assert ORACLE.expected(random_parameters(), random_images(0)).shape == (0, 10)

    def test_leaves_its_inputs_alone(self):
        images = random_images(2)
        before = images.copy()
        ORACLE.expected(random_parameters(), images)
        np.testing.assert_array_equal(before, images)

    def test_gives_pytorch_its_threads_back(self):
        before = torch.get_num_threads()
        ORACLE.expected(random_parameters(), random_images(1), threads=before + 1)
        assert before == torch.get_num_threads()


class TestExpectedWorkload:
    @pytest.mark.parametrize(
        "variant", ["conv2d", "conv2d_bias", "conv2d_relu", "conv2d_bias_relu"]
    )
    @pytest.mark.parametrize("bias_shape", [(32,), (1, 32, 1, 1)])
    def test_equals_the_convolution_in_numpy(self, variant, bias_shape):
        parameters, data = random_parameters(), random_images(3, 2)
        weight, bias = parameters["conv2d_weight"], parameters["conv2d_bias"]
        desired = convolve(data, weight)
        if "bias" in variant:
            desired = desired + bias.astype(float)[:, None, None]
        if "relu" in variant:
            desired = np.maximum(desired, 0)
        actual = ORACLE.expected_workload(variant, data, weight, bias.reshape(bias_shape))
        assert ((3, 2, 32, 26, 26), np.float32) == (actual.shape, actual.dtype)
        np.testing.assert_allclose(actual, desired, rtol=1e-5, atol=1e-5)

    def test_does_not_know_other_variants(self):
        parameters = random_parameters()
        with pytest.raises(KeyError, match="pool"):
            ORACLE.expected_workload(
                "pool", random_images(1, 1), parameters["conv2d_weight"], parameters["conv2d_bias"]
            )
