"""PyTorch's own function for what `workload.py` times: the point of comparison, worth no points.

A grading runs this text in a process with PyTorch and without anything of a submission.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional


def library(variant: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return what computes a variant of the workload.

    It takes data (N, 1, 28, 28), weight (32, 1, 3, 3) and bias (32,), which only some variants use,
    and returns (N, 32, 26, 26).
    """
    with_bias, with_relu = "bias" in variant, "relu" in variant

    def compute(data: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        result = functional.conv2d(data, weight, bias if with_bias else None)
        return functional.relu_(result) if with_relu else result

    return compute
