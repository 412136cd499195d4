"""PyTorch's own function for what `workload.py` times: the point of comparison, worth no points.

A grading runs this text in a process with PyTorch and without anything of a submission.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def library(variant: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Return what multiplies matrices A (16, 128, 128) by B (16, 128, 128), followed by a ReLU.

    There is one variant. PyTorch has no function for both, so it is two.
    """
    del variant

    def compute(a: Tensor, b: Tensor) -> Tensor:
        return torch.relu_(torch.bmm(a, b))

    return compute
