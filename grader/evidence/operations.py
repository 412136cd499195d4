"""The operations that PyTorch's layers are divided into, each of which can be done again.

A layer with a bias is two operations: the product, and the addition of the bias. So a mistake is
one operation changed, left out or repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

Tensor = Any
"""A torch.Tensor, float64. PyTorch's types are not checked."""

Compute = Callable[..., Tensor]
Doubles = npt.NDArray[np.float64]


class Operand(NamedTuple):
    """What an operation takes.

    `layer` is the place of the layer that gives it, `argument` that of the argument of the course's
    function that it is; both are None for a parameter of the model.
    """

    value: Tensor
    layer: int | None = None
    argument: int | None = None

    @property
    def is_running(self) -> bool:
        """Say whether it depends on an argument of the course's function."""
        return self.layer is not None or self.argument is not None


class Operation(NamedTuple):
    """What was done: its kind, what it took, and how, by name (stride, padding, axis)."""

    kind: str
    operands: tuple[Operand, ...]
    options: Mapping[str, Any]

    def compute(self, *values: Tensor, **changed: Any) -> Tensor:
        """Do it again, on other values or with other options. Raises RuntimeError, IndexError."""
        given = values or tuple(each.value for each in self.operands)
        return FUNCTIONS[self.kind](*given, **{**self.options, **changed})


class Layer(NamedTuple):
    """One value that PyTorch computes on the way to its output.

    `name` is empty for what nobody would call a layer: another shape or dtype, a row of a tensor.
    `is_partial` says that it is a part of the layer after it, such as a convolution whose bias is
    not added yet. `output` is its place among the outputs, None where it is none.
    """

    name: str
    operation: Operation
    value: Doubles
    is_partial: bool = False
    output: int | None = None


def _convolution(x: Tensor, weight: Tensor, **options: Any) -> Tensor:
    return functional.conv2d(x, weight, None, **options)


def _linear(x: Tensor, weight: Tensor) -> Tensor:
    return x @ weight.T


def _bias(x: Tensor, bias: Tensor, axis: int) -> Tensor:
    """Add a vector along an axis, counted from the last one backwards (-1, -2, ...)."""
    return x + bias.reshape(bias.shape + (1,) * (-1 - axis))


def _flatten(x: Tensor, start: int, end: int) -> Tensor:
    return x.flatten(start, end)


def _pool(x: Tensor, **options: Any) -> Tensor:
    return functional.max_pool2d(x, **options)


def _other(*values: Tensor, call: Compute) -> Tensor:
    return call(*values)


def exponential(x: Tensor, axis: int, is_shifted: bool) -> Tensor:
    """Return the exponentials, of differences to the largest item or of the items themselves."""
    return torch.exp(shifted(x, axis) if is_shifted else x)


def shifted(x: Tensor, axis: int) -> Tensor:
    """Return the differences to the largest item."""
    return x - x.amax(axis, keepdim=True)


def exponential_sum(x: Tensor, axis: int, is_shifted: bool) -> Tensor:
    """Return the sums of the exponentials."""
    return exponential(x, axis, is_shifted).sum(axis)


FUNCTIONS: Mapping[str, Compute] = {
    "convolution": _convolution,
    "linear": _linear,
    "matmul": torch.matmul,
    "bias": _bias,
    "add": torch.add,
    "relu": torch.relu,
    "pool": _pool,
    "flatten": _flatten,
    "softmax": lambda x, axis: torch.softmax(x, axis),
    "largest": lambda x, axis: x.amax(axis),
    "shifted": shifted,
    "exponential": exponential,
    "exponential_sum": exponential_sum,
    "other": _other,
    "part": _other,
}
"""What each kind of operation does: functions of float64 tensors and options by name."""

SIDE_KINDS = frozenset({"largest", "shifted", "exponential", "exponential_sum", "part"})
"""Parts of a layer that nothing after them is computed from."""
