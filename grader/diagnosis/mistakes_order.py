"""What goes wrong between layers: one left out, repeated, exchanged, given something else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import torch

from grader.diagnosis.layers import Change, Program, after, change, same
from grader.evidence.operations import Compute, Layer, Operation, Tensor
from grader.report import MistakeKind

_PRODUCTS = frozenset({"convolution", "linear", "matmul"})
"""Where the first of these is left out, what is left is the input: that has a name of its own."""

_MANY_ROUNDS = 1024
_MANY = 64
"""Largest number of layers of a program in which every other operand is tried."""


def order_mistakes(program: Program, place: int) -> Iterator[Change]:
    """Return what may have been done in place of a layer, whatever the layer does."""
    layer = program.layers[place]
    compute = layer.operation.compute
    if layer.operation.kind not in _PRODUCTS or layer.operation.operands[0].argument is None:
        yield change("layer_left_out", place, same)
    # A ReLU of a ReLU is the same again, and a bias twice has a name of its own.
    if layer.operation.kind != "relu":
        yield change("relu_extra", place, after(compute, torch.relu))
    if layer.operation.kind != "bias":
        yield change("layer_repeated", place, _twice(compute))
    if layer.value.ndim > 1 and layer.value.shape[-1] == layer.value.shape[-2]:
        yield change("result_transposed", place, after(compute, _transposed))
    yield from swapped(program, place)
    yield from _in_every_round(program, place)
    yield from _other_parameters(program, place)
    if len(program.layers) <= _MANY:
        yield from _other_operands(program, place)


def _in_every_round(program: Program, place: int) -> Iterator[Change]:
    """Do what follows a sum within its loop: add the bias to every term, or take every ReLU."""
    operation = program.layers[place].operation
    before = operation.operands[0].layer
    if operation.kind == "bias" and before is not None:
        rounds = _rounds(program.layers[before].operation)
        if rounds > 1:
            yield change(
                "bias_in_every_round",
                place,
                lambda x, b: operation.compute(x, rounds * b),
                rounds=rounds,
            )
    # After every term of a sum: to see that, the sum is done term by term, which takes as many
    # steps as it has.
    if operation.kind in ("linear", "matmul") and 1 < _rounds(operation) <= _MANY_ROUNDS:
        is_linear = operation.kind == "linear"
        yield change(
            "relu_in_every_round", place, lambda x, w: _rectified_sum(x, w.T if is_linear else w)
        )


def _rounds(operation: Operation) -> int:
    """Return how many terms the sums of a product have, 0 for another operation."""
    shapes = [each.value.shape for each in operation.operands]
    if operation.kind in ("convolution", "linear"):
        return math.prod(shapes[1][1:])
    return int(shapes[0][-1]) if operation.kind == "matmul" else 0


def _rectified_sum(x: Tensor, y: Tensor) -> Tensor:
    """Add up a product of matrices, with a ReLU after every term."""
    total = torch.relu(x[..., :1] @ y[..., :1, :])
    for term in range(1, x.shape[-1]):
        total = torch.relu(total + x[..., term : term + 1] @ y[..., term : term + 1, :])
    return total


def extra_mistakes(program: Program, place: int) -> Iterator[Change]:
    """Return what may have been done after a layer whose right value was there."""
    layer = program.layers[place]
    compute = layer.operation.compute
    kind: MistakeKind = "bias_twice" if layer.operation.kind == "bias" else "layer_repeated"
    yield change(kind, place, _twice(compute))
    yield change("relu_extra", place, after(compute, torch.relu))
    for axis in range(-1, -layer.value.ndim - 1, -1):
        yield change("softmax_extra", place, after(compute, partial(torch.softmax, dim=axis)))


def _transposed(x: Tensor) -> Tensor:
    return x.mT


def _twice(compute: Compute) -> Compute:
    return lambda x, *others: compute(compute(x, *others), *others)


def swapped(program: Program, place: int) -> Iterator[Change]:
    """Do the layer after this one first, on one of the values that this one takes."""
    following = program.next_of(place)
    if following is None:
        return
    one, other = program.layers[place].operation, program.layers[following].operation
    taken = [at for at, each in enumerate(other.operands) if each.layer == place]
    if len(taken) != 1:
        return
    names = (program.layers[place].name, program.layers[following].name)
    for index, operand in enumerate(one.operands):
        if operand.is_running:
            first = _in_place_of(other, taken[0], index)
            second = _with_others(one, taken[0], index)
            yield Change(
                "order_swapped", place, {place: first, following: second}, {"layers": names}
            )


def _in_place_of(operation: Operation, taken: int, index: int) -> Compute:
    """Do an operation on the value at `index` in place of the operand at `taken`."""
    given = [each.value for each in operation.operands]
    return lambda *values: operation.compute(*given[:taken], values[index], *given[taken + 1 :])


def _with_others(operation: Operation, taken: int, index: int) -> Compute:
    """Do an operation on the value at `taken` as its operand at `index`, and what it takes anyway
    beside it.
    """
    given = [each.value for each in operation.operands]
    return lambda *values: operation.compute(*given[:index], values[taken], *given[index + 1 :])


def _other_parameters(program: Program, place: int) -> Iterator[Change]:
    """Take a parameter of the same shape of another layer."""
    operation = program.layers[place].operation
    for index, operand in enumerate(operation.operands):
        if operand.is_running:
            continue
        yield change(
            "constant_zero", place, _with(operation.compute, index, torch.zeros_like(operand.value))
        )
        # Two layers of one shape whose parameters were exchanged: w1 for w0.
        for other, layer in enumerate(program.layers):
            for each in layer.operation.operands if other != place else ():
                if not each.is_running and each.value.shape == operand.value.shape:
                    yield change(
                        "constant_swapped",
                        place,
                        _with(operation.compute, index, each.value),
                        taken=layer.name,
                    )


def _other_operands(program: Program, place: int) -> Iterator[Change]:
    """Take another value than the right one: that of an earlier layer, or an argument."""
    layer = program.layers[place]
    for index, operand in enumerate(layer.operation.operands):
        if not operand.is_running:
            continue
        for name, value in _values_before(program.layers, place):
            if value.shape == operand.value.shape and value is not operand.value:
                yield change(
                    "other_operand",
                    place,
                    _with(layer.operation.compute, index, value),
                    taken=name,
                    wanted="" if operand.layer is None else program.layers[operand.layer].name,
                )


def _values_before(layers: Sequence[Layer], place: int) -> Iterator[tuple[str, Tensor]]:
    for layer in layers[:place]:
        if layer.name and not layer.is_partial:
            yield layer.name, torch.from_numpy(layer.value)
    for layer in layers[: place + 1]:
        for each in layer.operation.operands:
            if each.argument is not None:
                yield "", each.value


def _with(compute: Compute, index: int, value: Tensor) -> Compute:
    def changed(*values: Tensor) -> Tensor:
        return compute(*values[:index], value, *values[index + 1 :])

    return changed
