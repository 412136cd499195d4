"""The oracle of the perceptron against the same thing written in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.course_code import import_file
from grader.data.dataset import builtin_parameters
from grader.errors import DataError
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = builtin_parameters("fasionmnist_mlp_params.pkl")


ORACLE = import_file(our_course().get("e2e-mlp").file("oracle.py"), "oracle")


def test_it_computes_two_linear_layers_and_a_relu_without_softmax():
    inputs = np.random.default_rng(0).standard_normal((5, 784)).astype(np.float32)
    w0, b0, w1, b1 = (PARAMETERS[name].astype(np.float64) for name in ("w0", "b0", "w1", "b1"))
    desired = np.maximum(inputs @ w0.T + b0, 0) @ w1.T + b1
    actual = ORACLE.expected(PARAMETERS, inputs)
    assert (np.float64, (5, 10)) == (actual.dtype, actual.shape)
    np.testing.assert_allclose(actual, desired, rtol=1e-12, atol=1e-12)


def test_parameters_of_another_model_are_an_error():
    with pytest.raises(DataError, match="w1"):
        ORACLE.expected({**PARAMETERS, "w1": PARAMETERS["w0"]}, np.zeros((1, 784), np.float32))


def test_plain_float32_loops_are_well_within_the_tolerance():
    options = our_course().get("e2e-mlp").assignment.oracle
    inputs = 0.1 * np.random.default_rng(1).standard_normal((64, 784), dtype=np.float32)
    desired = ORACLE.expected(PARAMETERS, inputs)

    def layer(values, weight, bias):
        total = np.zeros((len(values), len(weight)), np.float32)
        for k in range(values.shape[1]):
            total = total + values[:, k : k + 1] * weight[:, k]
        return total + bias

    hidden = np.maximum(layer(inputs, PARAMETERS["w0"], PARAMETERS["b0"]), 0)
    actual = layer(hidden, PARAMETERS["w1"], PARAMETERS["b1"])
    allowed = options.atol + options.rtol * np.abs(desired)
    assert (np.abs(actual - desired) < 0.1 * allowed).all()
