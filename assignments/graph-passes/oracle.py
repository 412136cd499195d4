"""What is right in assignment graph-passes, where no model of `models.py` says it, said in PyTorch.

Only the referee imports this file. Arguments have a leading axis over cases; everything is computed
in double precision, so that no rounding of what is expected eats up a student's tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Parameters = Mapping[str, npt.NDArray[Any]]


def two_layers(
    _parameters: Parameters, x: Floats, w0: Floats, b0: Floats, w1: Floats, b1: Floats
) -> Doubles:
    """Return a layer with ReLU and one without, float64 (cases, 16, 10)."""
    hidden = torch.relu(_layer(_double(x), w0, b0))
    return _numpy(_layer(hidden, w1, b1))


def centered(_parameters: Parameters, x: Floats, w: Floats, b: Floats) -> Doubles:
    """Return a layer with ReLU less its mean over the batch, float64 (cases, batch, 20)."""
    positive = torch.relu(_layer(_double(x), w, b))
    return _numpy(positive - positive.mean(dim=1, keepdim=True))


centered_sizes = centered

ROWS = {"one": (1, 1), "large": (30, 100), "empty": (0, 0)}
"""The least and the largest batch of each case."""


def inputs(seed: int, case: str) -> dict[str, Floats]:
    """Return the arguments of one sample of a case: a batch of another size than is drawn."""
    generator = np.random.default_rng(seed)
    batch = int(generator.integers(*ROWS[case], endpoint=True))
    shapes = {"x": (batch, 24), "w": (24, 20), "b": (20,)}
    return {
        name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }


def _layer(x: torch.Tensor, weight: Floats, bias: Floats) -> torch.Tensor:
    return torch.matmul(x, _double(weight)) + _double(bias)[:, None, :]


def _double(values: npt.NDArray[Any]) -> torch.Tensor:
    """Return a copy as a float64 tensor: the caller's array is never shared with PyTorch."""
    return torch.tensor(values, dtype=torch.float64)


def _numpy(values: torch.Tensor) -> Doubles:
    array: Doubles = values.numpy()
    return array
