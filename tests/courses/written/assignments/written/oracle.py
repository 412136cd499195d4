"""What is right in assignment written: a dense layer of 8 inputs and 16 outputs, and ReLU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch


def expected(
    parameters: Mapping[str, npt.NDArray[Any]], inputs: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return relu(inputs @ weight.T + bias), float64 (n, 16), of `inputs`, float32 (n, 8)."""
    del parameters
    rows, columns = np.arange(16)[:, None], np.arange(8)
    weight = torch.tensor(((rows * 7 + columns * 3) % 11 - 5) / 8, dtype=torch.float64)
    bias = torch.tensor((np.arange(16) * 5 % 7 - 3) / 4, dtype=torch.float64)
    layer = torch.nn.functional.linear(torch.tensor(inputs, dtype=torch.float64), weight, bias)
    return np.asarray(layer.relu().numpy())
