"""What goes wrong in operations that are no product: means, differences, clamps, activations.

The recorder keeps them as calls of PyTorch. What a call did with its operand, such as along which
axis a mean goes, is found by trying.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import permutations
from typing import Any

import torch
from torch.nn import functional

from grader.diagnosis.layers import DOES_NOT_FIT, Change, Program, after, change
from grader.evidence.operations import Layer, Tensor

_CLOSE = 1e-9

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "relu6": functional.relu6,
    "gelu": functional.gelu,
    "gelu (tanh)": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "elu": functional.elu,
    "softplus": functional.softplus,
    "hardswish": functional.hardswish,
    "leaky_relu (0.01)": lambda x: functional.leaky_relu(x, 0.01),
    "leaky_relu (0.1)": lambda x: functional.leaky_relu(x, 0.1),
    "leaky_relu (0.2)": lambda x: functional.leaky_relu(x, 0.2),
    "x * tanh(x)": lambda x: x * torch.tanh(x),
    "mish": functional.mish,
    "selu": functional.selu,
    "hardsigmoid": functional.hardsigmoid,
}
"""Functions of one tensor that are taken for one another, by what PyTorch calls them."""

_DIVISIONS = frozenset({"div", "divide", "true_divide", "__truediv__"})
_BOUNDS = ((-128, 127), (-127, 127), (0, 255), (0, 127), (-128, 128), (-255, 255))
"""Ranges that numbers of eight bits are cut to."""


def elementwise_mistakes(program: Program, place: int) -> Iterator[Change]:
    """Return what may have been done in place of a call that is no product."""
    layer = program.layers[place]
    yield from _activations(program, place)
    name = layer.name
    if layer.operation.kind != "other":
        return
    if not name:
        yield from _arguments(place, layer)
    if name in ("cat", "concat", "concatenate") and len(layer.operation.operands) > 1:
        yield change(
            "operands_swapped",
            place,
            lambda *values: layer.operation.compute(*reversed(values)),
            of="joined",
        )
        yield from _neighbours(program, place)
    yield from _vectors(place, layer)
    if name in ("mean", "sum"):
        yield from _reductions(place, layer)
    elif name in ("sub", "__sub__", "rsub"):
        yield from _differences(place, layer)
    elif name in ("clamp", "clip"):
        yield from _clamps(place, layer)
    elif name == "rms_norm":
        yield from _normalised(place, layer)
    if name in ("sin", "cos", "sub", "mul", "div", "neg"):
        yield change("negated", place, after(layer.operation.compute, torch.neg))


def _neighbours(program: Program, place: int) -> Iterator[Change]:
    """Pair neighbours in place of the two halves of an axis, and join the pairs as neighbours.

    Of rotary embeddings, both are in use.
    """
    layer = program.layers[place]
    if len(layer.operation.operands) != 2:
        return
    first, second = (each.value for each in layer.operation.operands)
    joined = layer.operation.compute()
    for axis in range(-joined.ndim, 0):
        if first.shape != second.shape or not _is_same(torch.cat([first, second], axis), joined):
            continue
        for one, other in _halves(program, axis):
            computes = {
                one: partial(_every_second, axis=axis, start=0),
                other: partial(_every_second, axis=axis, start=1),
                place: partial(_in_turns, axis=axis),
            }
            facts = {"of": "neighbours", "distance": first.shape[axis]}
            yield Change("operands_swapped", place, computes, facts)


def _halves(program: Program, axis: int) -> Iterator[tuple[int, int]]:
    """Return pairs of layers that take the two halves of a value along an axis."""
    taken = [
        (place, layer.operation)
        for place, layer in enumerate(program.layers)
        if not layer.name and len(layer.operation.operands) == 1
    ]
    for (one, first), (other, second) in permutations(taken, 2):
        whole, operand = first.operands[0], second.operands[0]
        if (whole.argument, whole.layer) != (operand.argument, operand.layer):
            continue
        parts = first.compute(), second.compute()
        is_fit = parts[0].shape == parts[1].shape and -axis <= parts[0].ndim
        if is_fit and _is_same(torch.cat(parts, axis), whole.value):
            yield one, other


def _every_second(x: Tensor, axis: int, start: int) -> Tensor:
    return x.movedim(axis, -1)[..., start::2].movedim(-1, axis)


def _in_turns(x: Tensor, y: Tensor, axis: int) -> Tensor:
    pairs = torch.stack([x.movedim(axis, -1), y.movedim(axis, -1)], -1)
    return pairs.flatten(-2).movedim(-1, axis)


def _vectors(place: int, layer: Layer) -> Iterator[Change]:
    """Read a vector that goes along the columns with the index of the row."""
    operands, shape = layer.operation.operands, layer.operation.compute().shape
    if len(operands) != 2 or len(shape) < 2:
        return
    for index, each in enumerate(operands):
        is_row = each.value.numel() == shape[-1] == max(each.value.shape, default=0)
        if is_row and shape[-2] <= shape[-1] and each.value.shape != shape:
            column = each.value.reshape(-1)[: shape[-2]].reshape(-1, 1)
            yield change(
                "added_to_columns",
                place,
                lambda x, y, i=index, c=column: layer.operation.compute(*((c, y), (x, c))[i]),
                of="vector",
            )


def _arguments(place: int, layer: Layer) -> Iterator[Change]:
    """Take an argument with the opposite sign: the sines of a rotation, which goes backwards."""
    operands = layer.operation.operands
    if len(operands) == 1 and operands[0].argument is not None:
        negated = after(layer.operation.compute, torch.neg)
        yield change("negated", place, negated, of="argument", argument=operands[0].argument + 1)


def _normalised(place: int, layer: Layer) -> Iterator[Change]:
    """Add up squares without dividing them by their number, or subtract the mean, from all that is
    done or from what is divided alone.
    """
    compute = layer.operation.compute

    def added_up(x: Tensor, *rest: Tensor) -> Tensor:
        root = x.shape[-1] ** 0.5
        return compute(root * x, *rest) / root

    def divided(x: Tensor, *rest: Tensor) -> Tensor:
        return torch.nan_to_num(compute(x, *rest) / x) * (x - x.mean(-1, keepdim=True))

    yield change("sum_for_mean", place, added_up, takes="mean")
    yield change("mean_taken_off", place, divided)
    yield change(
        "mean_taken_off",
        place,
        lambda x, *rest: compute(x - x.mean(-1, keepdim=True), *rest),
    )


def factor_of(layer: Layer) -> float | None:
    """Return the number by which a layer multiplies whatever it takes, None for another layer."""
    operands = layer.operation.operands
    running = [each.value for each in operands if each.is_running]
    if layer.operation.kind != "other" or not layer.name or len(running) != 1:
        return None
    (x,) = running
    value, factors = layer.operation.compute(), _of_all(layer, 1)
    if factors is None or factors.shape != x.shape or not factors.numel():
        return None
    factor = float(factors.reshape(-1)[0])
    if not math.isfinite(factor) or factor in (0, 1):
        return None
    is_one = _is_same(factors, torch.full_like(factors, factor)) and _is_same(factor * x, value)
    return factor if is_one else None


def _of_all(layer: Layer, number: float) -> Tensor | None:
    """Return what a layer makes of one number everywhere, None if nothing: ones have no inverse."""
    given = (
        torch.full_like(each.value, number) if each.is_running else each.value
        for each in layer.operation.operands
    )
    try:
        return layer.operation.compute(*given)
    except DOES_NOT_FIT:
        return None


def left_out_facts(layer: Layer) -> dict[str, Any]:
    """Return by what number a layer that was left out multiplies or divides, or what it adds."""
    factor = factor_of(layer)
    if factor is None:
        return _added_facts(layer)
    if layer.name in _DIVISIONS:
        return {"of": "division", "wanted": 1 / factor}
    return {"of": "factor", "wanted": factor}


def _added_facts(layer: Layer) -> dict[str, Any]:
    """Return the number that a layer adds to whatever it takes: of one number, a root adds some."""
    added = _of_all(layer, 0) if layer.name and len(layer.operation.operands) == 1 else None
    amount = 0.0 if added is None else float(added.double().mean())
    if not _CLOSE < abs(amount) < math.inf:
        return {}
    (operand,) = layer.operation.operands
    is_one = _is_same(amount + operand.value, layer.operation.compute())
    return {"of": "addition", "wanted": amount} if is_one else {}


def factor_facts(layer: Layer, times: float) -> dict[str, Any]:
    """Return what is told of a layer that multiplies by a number, and by `times` as much here."""
    wanted = factor_of(layer)
    found = None if wanted is None else times * wanted
    if found is None or wanted is None or wanted < 0 or found < 0:
        return {}
    if layer.name not in _DIVISIONS:
        return {"of": "factor", "found": found, "wanted": wanted}
    if found > 1 > wanted:
        return {"of": "multiplied", "found": found, "wanted": 1 / wanted}
    return {"of": "division", "found": 1 / found, "wanted": 1 / wanted}


def _activations(program: Program, place: int) -> Iterator[Change]:
    """Do another activation than the layer is, on what it takes: gelu for silu."""
    layer = program.layers[place]
    if layer.operation.kind not in ("relu", "other") or not layer.name:
        return
    value = layer.operation.compute()
    for at in _inputs(program, layer, value):
        x = layer.operation.operands[at].value
        wanted = layer.name if layer.operation.kind == "relu" else _activation_of(x, value)
        if wanted is None or (wanted != "relu" and _is_inner(program, place, x)):
            continue
        for name, function in ACTIVATIONS.items():
            if name != wanted:
                yield change(
                    "other_activation",
                    place,
                    lambda *values, f=function, at=at: f(values[at]),
                    found=name,
                    wanted=wanted,
                )


def activated(program: Program, place: int) -> Iterator[tuple[int, Callable[[Tensor], Tensor]]]:
    """Yield of which of two operands a layer is an activation, and which one it is."""
    layer = program.layers[place]
    if layer.operation.kind != "other" or not layer.name or len(layer.operation.operands) != 2:
        return
    value = layer.operation.compute()
    for at in _inputs(program, layer, value):
        name = _activation_of(layer.operation.operands[at].value, value)
        if name is not None:
            yield at, ACTIVATIONS[name]


def _activation_of(x: Tensor, value: Tensor) -> str | None:
    return next((name for name, f in ACTIVATIONS.items() if _is_same(f(x), value)), None)


def _is_inner(program: Program, place: int, x: Tensor) -> bool:
    """Say whether a layer only serves an activation of the same tensor: the sigmoid of a silu."""
    after = program.next_of(place)
    if after is None:
        return False
    value = program.layers[after].operation.compute()
    return bool(_activation_of(x, value))


def _inputs(program: Program, layer: Layer, value: Tensor) -> Iterator[int]:
    """Return of which operand a layer of this shape is a function: x of `x * sigmoid(x)`."""
    operands = layer.operation.operands
    running = [at for at, each in enumerate(operands) if each.is_running]
    alike = [operands[at].value for at in running if operands[at].value.shape == value.shape]
    if len(alike) != len(running):
        return
    if len(alike) == 1 or any(torch.equal(alike[0], each) for each in alike[1:]):
        yield running[0]
        return
    for one, other in (running, running[::-1]) if len(running) == 2 else ():
        before = operands[other].layer
        taken = () if before is None else program.layers[before].operation.operands
        if operands[one].layer in [each.layer for each in taken]:
            yield one


def _is_same(found: Tensor, wanted: Tensor) -> bool:
    return bool(
        found.shape == wanted.shape and torch.allclose(found, wanted, rtol=_CLOSE, atol=_CLOSE)
    )


def _reductions(place: int, layer: Layer) -> Iterator[Change]:
    """Take a mean along another axis, or a sum in place of it, and the other way round."""
    operation = layer.operation
    if len(operation.operands) != 1:
        return
    x, value = operation.operands[0].value, operation.compute()
    cases = value.ndim - layer.value.ndim
    own, other = (torch.mean, torch.sum) if layer.name == "mean" else (torch.sum, torch.mean)
    for axis in range(-x.ndim, 0):
        for keeps in (True, False):
            if x.ndim and _is_same(own(x, axis, keepdim=keeps), value):
                yield change(
                    "sum_for_mean",
                    place,
                    lambda x, a=axis, k=keeps: other(x, a, keepdim=k),
                    takes=layer.name,
                )
                yield from _other_sums(place, layer, axis, keeps=keeps)
                for wrong in range(-x.ndim, 0):
                    if wrong != axis and x.ndim + wrong >= cases:
                        yield change(
                            "mean_axis",
                            place,
                            lambda x, a=wrong, k=keeps: own(x, a, keepdim=k),
                            found=x.ndim + wrong - cases,
                            wanted=x.ndim + axis - cases,
                        )
                return


def _other_sums(place: int, layer: Layer, axis: int, *, keeps: bool) -> Iterator[Change]:
    """Take the largest or smallest number for a sum, or divide by the extent of another axis."""
    x = layer.operation.operands[0].value
    count, is_mean = x.shape[axis], layer.name == "mean"
    for found, largest in (("largest", torch.amax), ("smallest", torch.amin)):
        yield change(
            "largest_for_sum",
            place,
            lambda x, f=largest: f(x, axis, keepdim=keeps) / (count if is_mean else 1),
            found=found,
        )
    for other in dict.fromkeys(x.shape) if is_mean else ():
        if other != count:
            yield change(
                "sum_for_mean",
                place,
                lambda x, n=other: torch.sum(x, axis, keepdim=keeps) / n,
                takes="count",
                found=other,
            )


def _differences(place: int, layer: Layer) -> Iterator[Change]:
    """Add what should be subtracted, or subtract the other way round."""
    if len(layer.operation.operands) == 2:
        yield change("added", place, torch.add)
        yield change("exchanged", place, lambda x, y: y - x)


def _clamps(place: int, layer: Layer) -> Iterator[Change]:
    """Cut to another range, or to one that is moved by half."""
    x, value = layer.operation.operands[0].value, layer.operation.compute()
    low, high = float(value.min()), float(value.max())
    if not (_is_same(x.clamp(low, high), value) and len(layer.operation.operands) == 1):
        return
    for least, most in _BOUNDS:
        found = f"{least} to {most}"
        if (least, most) != (low, high):
            yield change(
                "clamp_range", place, lambda x, a=least, b=most: x.clamp(a, b), found=found
            )
    for shift in (128, -128):
        yield change(
            "clamp_range",
            place,
            lambda x, s=shift: (x + s).clamp(low, high),
            found=f"{low - shift:g} to {high - shift:g}",
            moved="moved",
            shift=shift,
        )
    shift = (_BOUNDS[0][1] + 1) if low < 0 else -(_BOUNDS[0][1] + 1)
    yield change(
        "clamp_range",
        place,
        lambda x, s=shift: (x + s).clamp(low + s, high + s),
        found=f"{low + shift:g} to {high + shift:g}",
    )
