"""What is right in assignment e2e-mlp, said in PyTorch.

Only the referee imports this file: it never enters a sandbox. Everything is computed in double
precision, so that no rounding of the expected output eats up a student's tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from grader.errors import DataError

PARAMETERS: dict[str, tuple[str, tuple[int, ...]]] = {
    "w0": ("0.weight", (128, 784)),
    "b0": ("0.bias", (128,)),
    "w1": ("2.weight", (10, 128)),
    "b1": ("2.bias", (10,)),
}
"""The arrays of the parameter file: where each goes in the model, and its shape."""


def model(parameters: Mapping[str, npt.NDArray[Any]]) -> nn.Module:
    """Return the network in evaluation mode: float64 (n, 784) to scores (n, 10).

    `parameters` has the arrays that `PARAMETERS` names. Raises DataError when one is missing or has
    another shape.
    """
    network = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)).double()
    network.load_state_dict(_state(parameters))
    return network.eval()


def expected(
    parameters: Mapping[str, npt.NDArray[Any]], inputs: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return the scores, float64 (n, 10), of `inputs`, float32 (n, 784)."""
    with torch.inference_mode():
        scores = model(parameters)(torch.tensor(inputs, dtype=torch.float64))
    return np.asarray(scores.numpy(), dtype=np.float64)


def _state(parameters: Mapping[str, npt.NDArray[Any]]) -> dict[str, torch.Tensor]:
    """Return the arrays as a state dict of the network, copied, float64."""
    state = {}
    for name, (key, shape) in PARAMETERS.items():
        found = parameters[name].shape if name in parameters else None
        if found != shape:
            raise DataError(
                f"Parameter {name} has shape {found}, the model needs {shape}.",
                "Use the parameter file that belongs to this assignment.",
            )
        state[key] = torch.tensor(np.asarray(parameters[name]), dtype=torch.float64)
    return state
