"""A small classifier twice: in PyTorch, as a course says it, and in NumPy, as a student runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from grader.diagnosis.align import Observed
from grader.evidence.operations import Layer
from grader.evidence.recorder import record
from tests.seeded import begin_again, seeded

Values = npt.NDArray[Any]

GENERATOR = seeded(7)


def noise(*shape: int) -> Values:
    """Return random numbers, float32."""
    return GENERATOR.standard_normal(shape, dtype=np.float32)


PARAMETERS: dict[str, Values] = {
    "kernel": noise(3, 2, 3, 3),
    "kernel_bias": noise(3),
    "hidden": noise(12, 48) / 20,
    "hidden_bias": np.linspace(-2, 7, 12, dtype=np.float32),
    "square": noise(12, 12) / 4,
    "out": noise(5, 12) / 4,
    "out_bias": np.linspace(-2, 6, 5, dtype=np.float32),
}
IMAGES = noise(4, 2, 10, 10)
"""A batch of four images of two channels: 8 x 8 after the convolution, 4 x 4 after pooling."""

begin_again()  # what the next module draws does not hang on whether this one was imported before


def expected(images: Values) -> Values:
    """Return the probabilities of five classes, in PyTorch."""
    given = {name: torch.tensor(each).double() for name, each in PARAMETERS.items()}
    with torch.inference_mode():
        x = torch.tensor(images, dtype=torch.float64)
        x = nn.functional.conv2d(x, given["kernel"], given["kernel_bias"]).relu()
        x = nn.functional.max_pool2d(x, 2).flatten(1)
        x = nn.functional.linear(x, given["hidden"], given["hidden_bias"])
        x = nn.functional.linear(torch.relu(x), given["square"])
        x = nn.functional.linear(torch.relu(x), given["out"], given["out_bias"])
        result: Values = torch.softmax(x, dim=1).numpy()
    return result


def double(array: Any) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(array, dtype=torch.float64)


def without(array: Values, axis: int, index: int) -> Values:
    """Return an array with zeros at one place along an axis."""
    cleared = array.copy()
    cleared[(slice(None),) * axis + (index,)] = 0
    return cleared


def layers(images: Values = IMAGES) -> tuple[Layer, ...]:
    """Return what PyTorch does for a batch of images."""
    return record(lambda: expected(images), [images])


def convolve(x: Values, kernel: Values, padding: int = 0, stride: int = 1) -> Values:
    """Return the sums of products of windows and kernels."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[2:], axis=(2, 3))
    return np.einsum("ncyxij,fcij->nfyx", windows[:, :, ::stride, ::stride], kernel)


def pool(
    x: Values, size: int = 2, stride: int = 2, reduce: Callable[..., Any] = np.max, end: int = 0
) -> Values:
    """Return what is taken of each window; `end` rows and columns are added behind."""
    padded = np.pad(x, ((0, 0), (0, 0), (0, end), (0, end)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))
    result: Values = reduce(windows[:, :, ::stride, ::stride], axis=(-2, -1))
    return result


def softmax(x: Values, axis: int = 1) -> Values:
    """Return the exponentials, divided by their sums."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    result: Values = powers / powers.sum(axis, keepdims=True)
    return result


def relu(x: Values) -> Values:
    """Return what is positive."""
    return np.maximum(x, 0)


def add_bias(x: Values) -> Values:
    """Add the convolution's bias to each channel."""
    return x + PARAMETERS["kernel_bias"].reshape(1, 3, 1, 1)


def hidden(x: Values) -> Values:
    """Return the first linear layer."""
    return x @ PARAMETERS["hidden"].T + PARAMETERS["hidden_bias"]


def square(x: Values) -> Values:
    """Return the second linear layer, which has no bias and as many outputs as inputs."""
    return x @ PARAMETERS["square"].T


def out(x: Values) -> Values:
    """Return the last linear layer."""
    return x @ PARAMETERS["out"].T + PARAMETERS["out_bias"]


Step = tuple[str, Callable[[Values], Values]]

RIGHT: tuple[Step, ...] = (
    ("conv2d", lambda x: convolve(x, PARAMETERS["kernel"])),
    ("add", add_bias),
    ("relu", relu),
    ("pool2d", pool),
    ("flatten", lambda x: x.reshape(4, -1)),
    ("dense", hidden),
    ("relu1", relu),
    ("dense1", square),
    ("relu2", relu),
    ("dense2", out),
    ("softmax", softmax),
)
"""What a right student does, step by step."""


def run(steps: Sequence[Step], images: Values = IMAGES) -> list[Observed]:
    """Return the values of a chain of steps, each of which takes the one before, in float32."""
    observed: list[Observed] = []
    value = images
    for place, (callee, compute) in enumerate(steps):
        value = compute(value).astype(np.float32)
        takes = () if place == 0 else (place - 1,)
        observed.append(Observed(f"lv{place}", callee, value, takes, takes_input=place == 0))
    return observed


def but(**changed: Callable[[Values], Values] | None) -> list[Step]:
    """Return the right steps with some of them changed, or left out where None is given."""
    assert set(changed) <= {callee for callee, _ in RIGHT}
    steps = [(callee, changed.get(callee, compute)) for callee, compute in RIGHT]
    return [(callee, compute) for callee, compute in steps if compute is not None]
