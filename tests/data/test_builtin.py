"""The built-in set classifies as a real one does, and hides no mistake."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from grader.data.dataset import builtin_data, builtin_parameters
from grader.data.parameters import KNOWN
from grader.errors import DataError
from grader.language import foreign

from .conftest import CONV, MLP

Array = npt.NDArray[np.float64]
DATA = builtin_data(CONV, foreign("a test asked for it"))
WEIGHTS = {name: value.astype(np.float64) for name, value in DATA.parameters.items()}


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def convolve(inputs: Array, weight: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(inputs[:, 0], (3, 3), axis=(1, 2))
    return np.einsum("nyxij,oij->noyx", windows, weight[:, 0], optimize=True)


def classify(inputs: Array, weights: dict[str, Array]) -> Array:
    """The model of e2e-conv in NumPy, float64: inputs (n, 1, 28, 28), probabilities (n, 10)."""
    features = convolve(inputs, weights["conv2d_weight"])
    features = np.maximum(features + weights["conv2d_bias"][:, None, None], 0)
    pooled = features.reshape(-1, 32, 13, 2, 13, 2).max((3, 5)).reshape(-1, 5408)
    hidden = np.maximum(pooled @ weights["linear0_weight"].T + weights["linear0_bias"], 0)
    return softmax(hidden @ weights["linear1_weight"].T + weights["linear1_bias"])


IMAGES = DATA.inputs().astype(np.float64)
RANDOM = 0.1 * np.random.default_rng(7).standard_normal((64, 1, 28, 28))


def test_parameters_have_the_shapes_of_the_course() -> None:
    for name in (CONV, MLP):
        shapes = {key: value.shape for key, value in builtin_parameters(name).items()}
        assert shapes == KNOWN[name].shapes


def test_the_convolutional_model_is_good_but_not_perfect() -> None:
    accuracy = (classify(IMAGES, WEIGHTS).argmax(1) == DATA.labels).mean()
    assert 0.85 < accuracy < 0.95


def test_the_perceptron_is_good_but_not_perfect() -> None:
    weights = builtin_parameters(MLP)
    hidden = np.maximum(IMAGES.reshape(-1, 784) @ weights["w0"].T + weights["b0"], 0)
    accuracy = ((hidden @ weights["w1"].T + weights["b1"]).argmax(1) == DATA.labels).mean()
    assert 0.85 < accuracy < 0.95


def test_probabilities_are_not_saturated() -> None:
    """Where a probability is 0 or 1, a mistake does not show."""
    probabilities = classify(IMAGES, WEIGHTS)
    assert probabilities.max() < 0.99
    assert probabilities.min() > 1e-5


def test_no_bias_is_near_zero() -> None:
    for name in ("conv2d_bias", "linear0_bias", "linear1_bias"):
        bias = DATA.parameters[name]
        assert np.abs(bias).min() >= 0.0999
        assert np.abs(np.diff(bias)).min() > 0.1


@pytest.mark.parametrize(
    "mistake",
    [
        {"conv2d_bias": np.zeros(32)},
        {"conv2d_bias": np.roll(WEIGHTS["conv2d_bias"], 1)},
        {"conv2d_weight": WEIGHTS["conv2d_weight"][:, :, ::-1, ::-1]},
        {"conv2d_weight": WEIGHTS["conv2d_weight"].swapaxes(2, 3)},
        {"linear0_bias": np.zeros(100)},
        {"linear1_bias": np.zeros(10)},
    ],
    ids=["no bias", "rolled bias", "flipped kernel", "transposed kernel", "linear0", "linear1"],
)
@pytest.mark.parametrize("inputs", [IMAGES, RANDOM], ids=["images", "random"])
def test_every_input_reveals_a_mistake(inputs: Array, mistake: dict[str, Array]) -> None:
    """At the tolerances of e2e-conv, and ten times above them."""
    right = classify(inputs, WEIGHTS)
    wrong = classify(inputs, {**WEIGHTS, **mistake})
    assert (np.abs(wrong - right) > 1e-4 + 1e-3 * right).any(1).all()


def test_a_batch_of_four_leaves_a_remainder() -> None:
    assert len(DATA.images) % 4 == 3


def test_the_report_says_why_the_built_in_set_is_used() -> None:
    assert DATA.name == "built-in"
    assert DATA.detail.english.startswith("These 499 images are synthetic, and the parameters")
    assert DATA.detail.english.endswith(", because a test asked for it.")


def test_an_assignment_without_parameters_gets_none() -> None:
    found = builtin_data("", foreign("a test asked for it"))
    assert found.parameters == {}
    assert "parameters" not in found.detail.english


def test_parameters_without_a_stand_in_are_an_error() -> None:
    with pytest.raises(DataError, match=r"no parameters called mine\.pkl") as caught:
        builtin_data("mine.pkl", foreign("a test asked for it"))
    assert "--data" in caught.value.hint.english
