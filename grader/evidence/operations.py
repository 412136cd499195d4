"""The operations that PyTorch's layers are divided into, each of which can be done again.

A layer with a bias is two operations: the product, and the addition of the bias. So a mistake is
one operation changed, left out or repeated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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


def _linear(x: Tensor, weight: Tensor) -> Tensor:
    return x @ (weight.mT if weight.ndim > 1 else weight)  # cases may have an axis of their own


def _bias(x: Tensor, bias: Tensor, axis: int) -> Tensor:
    """Add a vector along an axis, counted from the last one backwards (-1, -2, ...)."""
    return x + bias.reshape((-1,) + (1,) * (-1 - axis))


def _other(*values: Tensor, call: Compute) -> Tensor:
    return call(*values)


def exponential(x: Tensor, axis: int, is_shifted: bool) -> Tensor:
    """Return the exponentials, of differences to the largest item or of the items themselves."""
    return torch.exp(shifted(x, axis) if is_shifted else x)


def shifted(x: Tensor, axis: int) -> Tensor:
    """Return x minus the largest item along an axis, of the shape of x: exp(x) cannot overflow."""
    return x - x.amax(axis, keepdim=True)


def exponential_sum(x: Tensor, axis: int, is_shifted: bool) -> Tensor:
    """Return the sums of the exponentials along an axis, without that axis."""
    return exponential(x, axis, is_shifted).sum(axis)


FUNCTIONS: Mapping[str, Compute] = {
    "convolution": functional.conv2d,
    "linear": _linear,
    "matmul": torch.matmul,
    "bias": _bias,
    "add": torch.add,
    "relu": torch.relu,
    "pool": functional.max_pool2d,
    "flatten": lambda x, start, end: x.flatten(start, end),
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


# --- layers of several operations -----------------------------------------------------------------
# Layers that a course spells in several operations: a softmax by hand is a softmax.
#
# What is wrong in it can be told as that of the layer, and nothing else of it: to somebody whose
# softmax went along another axis, an exponential was what came next, and the softmax was one too
# many.


_CLOSE = 1e-12
"""Two ways to a softmax in double precision differ by less."""


def composed(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers, with the last operation of a softmax by hand as the softmax it is.

    The operations within it, which nothing else takes, become parts of it.
    """
    found = list(layers)
    for place, layer in enumerate(found):
        if layer.operation.kind == "other" and layer.name and layer.value.ndim:
            _fold(place, found)
    return tuple(found)


def _fold(place: int, layers: list[Layer]) -> None:
    """Make an operation the softmax of the first value that it is one of.

    The differences to the largest item have the same softmax as the items.
    """
    within: set[int] = set()
    waiting = _taken(layers[place])
    found: tuple[int, int] | None = None
    while waiting:
        before = max(waiting)
        waiting.discard(before)
        # The search goes on behind a find: a softmax of the differences is one of the items, from
        # which the student begins.
        axis = _softmax_axis(layers[before], layers[place])
        if axis is not None:
            found = before, axis
        if layers[before].operation.kind == "other":
            within.add(before)
            waiting |= _taken(layers[before])
    if found is not None:
        _replace(place, *found, {each for each in within if each > found[0]}, layers)


def _taken(layer: Layer) -> set[int]:
    return {each.layer for each in layer.operation.operands if each.layer is not None}


def _softmax_axis(before: Layer, after: Layer) -> int | None:
    """Return the axis, counted from the last one, along which one value is the other's softmax."""
    if before.value.shape != after.value.shape:
        return None
    value = torch.from_numpy(before.value)
    for axis in range(-1, -after.value.ndim - 1, -1):
        # Along an axis of one place a softmax is 1 everywhere.
        if after.value.shape[axis] > 1:
            wanted = torch.softmax(value, axis).numpy()
            if np.allclose(after.value, wanted, rtol=_CLOSE, atol=_CLOSE):
                return axis
    return None


def _replace(place: int, before: int, axis: int, within: set[int], layers: list[Layer]) -> None:
    """Make a softmax of an operation, and parts of what only serves it."""
    operand = Operand(torch.from_numpy(layers[before].value), layer=before)
    operation = Operation("softmax", (operand,), {"axis": axis})
    layers[place] = layers[place]._replace(name="softmax", operation=operation)
    for each in sorted(within, reverse=True):
        takers = {at for at, layer in enumerate(layers) if each in _taken(layer)}
        # What something else takes as well is a layer that may be wrong by itself.
        if all(layers[at].operation.kind == "part" for at in takers):
            part = layers[each].operation._replace(kind="part")
            layers[each] = layers[each]._replace(operation=part, is_partial=True)


# --- steps that a course declares ---------------------------------------------------------------


Steps = Callable[..., Mapping[str, object]]
"""Returns the values that a computation comes by, by name and in order, of its arguments."""


def course_steps(
    module: object, computation: str, parameters: Mapping[str, npt.NDArray[Any]]
) -> Steps | None:
    """Return the function of `oracle.py` that declares a computation's steps, if there is one."""
    function = getattr(module, f"{computation.replace('-', '_')}_steps", None)
    return None if function is None else lambda *arguments: function(parameters, *arguments)


def declared(
    steps: Mapping[str, object], name: str, result: object, arguments: Sequence[object]
) -> tuple[Layer, ...]:
    """Return layers for the values that a course's function says it comes by, where it calls
    nothing of PyTorch's. Its result is called `name`, with a number where there are several.

    Each is taken to be made of the one before it and of the arguments. It can be compared, and not
    be done again on other values.
    """
    outputs = result if isinstance(result, tuple) else (result,)
    names = [f"{name} {at}" for at in range(1, 1 + len(outputs))] if outputs[1:] else [name]
    values: list[tuple[str, object, int | None]]
    values = [(each, value, None) for each, value in steps.items()]
    values += [(each, outputs[at], at) for at, each in enumerate(names)]
    taken = tuple(Operand(_tensor(each), argument=place) for place, each in enumerate(arguments))
    layers: list[Layer] = []
    for called, value, output in values:
        tensor = _tensor(value)
        before = (Operand(_tensor(layers[-1].value), layer=len(layers) - 1),) if layers else ()
        again = Operation("other", (*before, *taken), {"call": lambda *_, made=tensor: made})
        layers.append(Layer(called, again, tensor.numpy(), output=output))
    return tuple(layers)


def _tensor(values: object) -> Tensor:
    return torch.from_numpy(np.array(values, np.float64))


# --- threads --------------------------------------------------------------------------------------
# How many threads PyTorch computes on: one, unless somebody asks for more.


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread for a while.

    Its default, on a machine that others use too, takes up to a hundred times as long for small
    tensors: threads that wait for each other spin.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
