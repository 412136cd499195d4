"""What is right in assignment e2e-conv, said in PyTorch.

Only the referee imports this file: it never enters a sandbox. What outputs are compared with is
computed in double precision, so that no rounding of it eats up a student's tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from grader.errors import DataError

PARAMETERS: dict[str, tuple[str, tuple[int, ...]]] = {
    "conv2d_weight": ("0.weight", (32, 1, 3, 3)),
    "conv2d_bias": ("0.bias", (32,)),
    "linear0_weight": ("4.weight", (100, 5408)),
    "linear0_bias": ("4.bias", (100,)),
    "linear1_weight": ("6.weight", (10, 100)),
    "linear1_bias": ("6.bias", (10,)),
}
"""The arrays of the parameter file: where each goes in the model, and its shape."""

VARIANTS = {
    "conv2d": (False, False),
    "conv2d_bias": (True, False),
    "conv2d_relu": (False, True),
    "conv2d_bias_relu": (True, True),
}
"""What the convolution's function may compute: (with bias, with ReLU)."""

CHUNK = 32
"""Images at a time: few enough that PyTorch reuses its buffers. With 200 it takes twice as long."""

FEW = 8
"""Images at a time of the convolution alone: the memory of these outputs is not given back to the
system after each call, and fetched again, page by page. With 32 it takes three times as long."""


def model(parameters: Mapping[str, npt.NDArray[Any]]) -> nn.Module:
    """Return the network in evaluation mode: float32 (n, 1, 28, 28) to probabilities (n, 10).

    `parameters` has the arrays that `PARAMETERS` names. Raises DataError when one is missing or has
    another shape.
    """
    network = nn.Sequential(
        nn.Conv2d(1, 32, kernel_size=3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(5408, 100),
        nn.ReLU(),
        nn.Linear(100, 10),
        nn.Softmax(dim=1),
    )
    network.load_state_dict(_state(parameters))
    return network.eval()


def expected(
    parameters: Mapping[str, npt.NDArray[Any]],
    inputs: npt.NDArray[np.float32],
    threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Return the class probabilities, float64 (n, 10), of `inputs`, float32 (n, 1, 28, 28)."""
    network = model(parameters).double()
    outputs = np.empty((len(inputs), 10))
    with torch.inference_mode(), _threads(threads):
        for start in range(0, len(inputs), CHUNK):
            part = slice(start, start + CHUNK)
            outputs[part] = network(_double(inputs[part])).numpy()
    return outputs


def expected_workload(
    variant: str,
    data: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
    bias: npt.NDArray[np.float32],
    threads: int = 1,
) -> npt.NDArray[np.float32]:
    """Return what the convolution's function computes, float32 (r, n, 32, 26, 26).

    A sum of nine products is exact to 1e-5 in single precision, and timed outputs are compared
    within 1e-4 and 1e-3 of the value. A grading computes some thousand images, and double precision
    takes four times as long.

    `data` is float32 (r, n, 1, 28, 28): a ring of r batches; `weight` (32, 1, 3, 3); `bias` has 32
    items in any shape, and only the variants that add it read it. Raises KeyError for a name that
    is not in `VARIANTS`.
    """
    with_bias, with_relu = VARIANTS[variant]
    ring, batch = data.shape[:2]
    images = data.reshape(ring * batch, *data.shape[2:])
    outputs = np.empty((ring * batch, 32, 26, 26), np.float32)
    kernel = torch.tensor(weight)
    added = torch.tensor(bias).reshape(32) if with_bias else None
    with torch.inference_mode(), _threads(threads):
        for start in range(0, len(images), FEW):
            part = slice(start, start + FEW)
            result = nn.functional.conv2d(torch.tensor(images[part]), kernel, added)
            outputs[part] = (result.relu() if with_relu else result).numpy()
    return outputs.reshape(ring, batch, 32, 26, 26)


def _state(parameters: Mapping[str, npt.NDArray[Any]]) -> dict[str, torch.Tensor]:
    """Return the arrays as a state dict of the network, copied, float32."""
    state = {}
    for name, (key, shape) in PARAMETERS.items():
        found = parameters[name].shape if name in parameters else None
        if found != shape:
            raise DataError(
                f"Parameter {name} has shape {found}, the model needs {shape}.",
                "Use the parameter file that belongs to this assignment.",
            )
        state[key] = torch.tensor(np.asarray(parameters[name], dtype=np.float32))
    return state


def _double(values: npt.NDArray[Any]) -> torch.Tensor:
    """Return a copy as a float64 tensor: the caller's array is never shared with PyTorch."""
    return torch.tensor(values, dtype=torch.float64)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Give PyTorch `count` threads for a while: its default, oversubscribed, is 20 times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
