"""What is right in assignment tensorir, said in PyTorch.

Only the referee imports this file: it never enters a sandbox. Arguments and results have a leading
axis over the cases. Floats are computed in double precision, so that no rounding of the expected
output eats up a student's tolerance; integers stay integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

Parameters = Mapping[str, npt.NDArray[Any]]
"""The parameter file's arrays: this assignment has none."""

VARIANTS = ("bmm_relu",)
"""What the timed function may compute."""


def broadcast_add(
    _parameters: Parameters, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the matrices `a`, int64 (cases, 4, 4), plus `b`, (cases, 4), in each of their rows."""
    result: npt.NDArray[np.int64] = (_copy(a) + _copy(b)[:, None, :]).numpy()
    return result


def conv2d(
    _parameters: Parameters, data: npt.NDArray[np.int64], weight: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the convolutions without padding, int64 (cases, 1, 2, 6, 6).

    `data` is int64 (cases, 1, 1, 8, 8), `weight` (cases, 2, 1, 3, 3), another one for each case.
    """
    results = [
        nn.functional.conv2d(image, filters)
        for image, filters in zip(_copy(data), _copy(weight), strict=True)
    ]
    return torch.stack(results).numpy()


def bmm_relu(
    _parameters: Parameters,
    a: npt.NDArray[np.float32],
    b: npt.NDArray[np.float32],
    threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Return the ReLU of the products of matrices: float64 (cases, 16, 128, 128), like `a` and `b`.

    `threads` is how many PyTorch may use. One case at a time is computed, as a case's tensors in
    double precision take six megabytes.
    """
    outputs = np.empty(a.shape[:-1] + b.shape[-1:])
    with torch.inference_mode(), _threads(threads):
        for case, (left, right) in enumerate(zip(a, b, strict=True)):
            outputs[case] = torch.bmm(_double(left), _double(right)).relu().numpy()
    return outputs


def expected_workload(
    variant: str, a: npt.NDArray[np.float32], b: npt.NDArray[np.float32], threads: int = 1
) -> npt.NDArray[np.float64]:
    """Return what the timed function computes, float64 (r, 16, 128, 128).

    `a` is float32 (r, 16, 128, 128): r first arguments; `b` (16, 128, 128) is the same for all.
    Raises KeyError for a name that is not in `VARIANTS`.
    """
    if variant not in VARIANTS:
        raise KeyError(variant)
    return bmm_relu({}, a, np.broadcast_to(b, (len(a), *b.shape)), threads)


def _copy(values: npt.NDArray[Any]) -> torch.Tensor:
    """Return a copy as a tensor: the caller's array is never shared with PyTorch."""
    return torch.tensor(values)


def _double(values: npt.NDArray[Any]) -> torch.Tensor:
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
