"""What goes wrong in layers with windows, and between layers: left out, repeated, exchanged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import torch
from torch.nn import functional

from grader.diagnosis.fixed import fixed
from grader.diagnosis.layers import Change, Program, after, change, same
from grader.diagnosis.mistakes_elementwise import activated, factor_of, left_out_facts
from grader.diagnosis.mistakes_products import doubled
from grader.evidence.operations import Compute, Layer, Operation, Tensor
from grader.report import MistakeKind

# --- convolutions ---------------------------------------------------------------------------------
# What goes wrong in a convolution: its window, its steps, its edges.


_CONVOLUTION_PADDINGS = range(4)
_CONVOLUTION_STRIDES = range(1, 4)
_ROWS, _COLUMNS = -2, -1
_REDUCED: Mapping[tuple[int, ...], str] = {
    (1,): "channels",
    (_ROWS,): "rows",
    (_COLUMNS,): "columns",
    (_ROWS, _COLUMNS): "rows_and_columns",
}
"""Axes of a filter that a sum goes over, and what they are called."""


def convolution_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of a convolution."""
    yield from _kernels(place, layer)
    yield from _steps(place, layer)
    yield from _one_sided(place, layer)
    yield from _cropped(place, layer)
    yield from _sums(place, layer)
    yield from fixed(place, layer)


def _kernels(place: int, layer: Layer) -> Iterator[Change]:
    compute = layer.operation.compute
    for axes in ((_ROWS, _COLUMNS), (_ROWS,), (_COLUMNS,)):
        names = [("rows", "columns")[each] for each in axes]
        yield change(
            "kernel_flipped",
            place,
            lambda x, w, axes=axes: compute(x, torch.flip(w, axes)),
            axes=tuple(names),
        )
    yield change("kernel_transposed", place, lambda x, w: compute(x, w.transpose(-1, -2)))


_SETTINGS: tuple[tuple[MistakeKind, str, Sequence[int]], ...] = (
    ("padding", "padding", _CONVOLUTION_PADDINGS),
    ("convolution_stride", "stride", _CONVOLUTION_STRIDES),
    ("dilation", "dilation", _CONVOLUTION_STRIDES),
)
"""Mistakes by the option of the convolution that is another one, and what it may be."""


def _steps(place: int, layer: Layer) -> Iterator[Change]:
    options = layer.operation.options
    for kind, name, choices in _SETTINGS:
        wanted = options[name]
        for number in choices:
            found = (number, number)
            if found == wanted:
                continue
            yield change(
                kind,
                place,
                lambda x, w, name=name, found=found: layer.operation.compute(x, w, **{name: found}),
                found=found,
                wanted=wanted,
            )


def _one_sided(place: int, layer: Layer) -> Iterator[Change]:
    """Put all of the padding on one side of each axis: the size of the result stays."""
    compute, (rows, columns) = layer.operation.compute, layer.operation.options["padding"]
    if rows != columns or not rows:
        return
    total = 2 * rows
    for start in (0, total):
        pads = (start, total - start) * 2
        yield change(
            "padding_one_side",
            place,
            lambda x, w, p=pads: compute(functional.pad(x, p), w, padding=(0, 0)),
            wanted=rows,
        )


def _cropped(place: int, layer: Layer) -> Iterator[Change]:
    """Pad where nothing is to be padded, and keep the first rows and columns, or the last ones."""
    compute, wanted = layer.operation.compute, layer.operation.options["padding"]
    rows, columns = layer.value.shape[-2:]
    first = ..., slice(rows), slice(columns)
    last = ..., slice(-rows, None), slice(-columns, None)
    for number in _CONVOLUTION_PADDINGS if wanted == (0, 0) else ():
        for kept in (first, last):
            yield change(
                "padding",
                place,
                lambda x, w, n=number, kept=kept: compute(x, w, padding=(n, n))[kept],
                found=(number, number),
                wanted=wanted,
                of="cropped",
            )


def _sums(place: int, layer: Layer) -> Iterator[Change]:
    compute = layer.operation.compute
    weight = layer.operation.operands[1].value
    for axes, name in _REDUCED.items():
        extent, *others = {weight.shape[axis] for axis in axes}
        for index, end in ((extent - 1, "last"), (0, "first")):
            if extent > 1 and not others:
                yield change(
                    "reduction_too_short",
                    place,
                    lambda x, w, a=axes, i=index: compute(x, _without(w, a, i)),
                    end=end,
                    axis=name,
                    found=extent - 1,
                    wanted=extent,
                )
    yield from doubled(place, compute)
    # Whichever of the reduction's loops stand inside of the initialisation.
    for axes in ((1, _ROWS, _COLUMNS), (_ROWS, _COLUMNS), (_COLUMNS,), (_ROWS,), (1,)):
        yield change(
            "initialised_in_every_round",
            place,
            lambda x, w, axes=axes: compute(x, _only_last(w, axes)),
        )


def _without(weight: Tensor, axes: Sequence[int], index: int) -> Tensor:
    cleared = weight.clone()
    for axis in axes:
        cleared.select(axis, index).zero_()
    return cleared


def _only_last(weight: Tensor, axes: tuple[int, ...]) -> Tensor:
    kept = torch.zeros_like(weight)
    view, source = kept, weight
    for axis in axes:
        last = weight.shape[axis] - 1
        view, source = view.narrow(axis, last, 1), source.narrow(axis, last, 1)
    view.copy_(source)
    return kept


# --- poolings -------------------------------------------------------------------------------------
# What goes wrong in a pooling: its window, its stride, its edges, what it takes of a window.


_POOL_SIZES = (2, 3, 1, 4, 5)
_POOL_STRIDES = (2, 1, 3, 4)
_POOL_PADDINGS = ((0, 0), (1, 1), (0, 1), (1, 0), (0, 2), (2, 2))
"""Rows, and columns, that are added before and behind."""


def pooling_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of taking the largest of each window."""
    options = layer.operation.options
    size, stride, padding = (options[each] for each in ("kernel_size", "stride", "padding"))
    yield change(
        "pooling_kind",
        place,
        lambda x: functional.avg_pool2d(x, size, stride, padding),
        found="average",
    )
    yield change(
        "pooling_kind",
        place,
        lambda x: -functional.max_pool2d(-x, size, stride, padding),
        found="smallest",
    )
    yield from _short_windows(place, layer)
    if len({*size}) > 1 or len({*stride}) > 1 or len({*padding}) > 1:
        return  # windows that are no squares: which of their extents is wrong is not looked for
    right = (size[0], stride[0], (padding[0], padding[0]))
    found = list(product(_POOL_SIZES, _POOL_STRIDES, _POOL_PADDINGS))
    # Several windows give as many numbers, or the very same: the one that differs in fewest
    # settings is named.
    found.sort(key=lambda each: sum(a != b for a, b in zip(each, right, strict=True)))
    for one in found:
        if one != right and max(one[2]) < one[0]:
            yield _other_window(place, one, right)._replace(size=_pooled_size(layer, one))
    yield from _along_one_axis(place, layer)


def _along_one_axis(place: int, layer: Layer) -> Iterator[Change]:
    """Give a pooling another setting along one axis, or padding on one side alone.

    Sides are told in the order of TVM: above, left, below, right.
    """
    options, compute = layer.operation.options, layer.operation.compute
    settings: tuple[tuple[MistakeKind, str, str, Sequence[int]], ...] = (
        ("pooling_size", "size", "kernel_size", _POOL_SIZES),
        ("pooling_stride", "stride", "stride", _POOL_STRIDES),
        ("pooling_dilation", "dilation", "dilation", _POOL_STRIDES),
    )
    right = {"size": options["kernel_size"], "stride": options["stride"], "padding": (0, 0)}
    right["dilation"] = options.get("dilation", (1, 1))
    wanted = {f"{name}_wanted": pair for name, pair in right.items()}
    for kind, name, option, choices in settings if not any(options["padding"]) else ():
        for axis, number in product((0, 1), choices):
            found = tuple(number if at == axis else n for at, n in enumerate(right[name]))
            if found != right[name]:
                told = {f"{each}_found": pair for each, pair in {**right, name: found}.items()}
                yield change(
                    kind, place, lambda x, o=option, f=found: compute(x, **{o: f}), **told, **wanted
                )
    for side in range(4) if not any(options["padding"]) else ():
        pads = tuple(int(at == side) for at in range(4))
        told = {f"{each}_found": pair for each, pair in {**right, "padding": pads}.items()}
        yield change(
            "pooling_padding",
            place,
            lambda x, p=pads: compute(
                functional.pad(x, (p[1], p[3], p[0], p[2]), value=float("-inf"))
            ),
            **told,
            **wanted,
        )


def _short_windows(place: int, layer: Layer) -> Iterator[Change]:
    """Leave out a row or a column of each window."""
    size, padding = (layer.operation.options[each] for each in ("kernel_size", "padding"))
    for axis, name in enumerate(("rows", "columns")):
        shorter = tuple(each - (at == axis) for at, each in enumerate(size))
        for end in ("last", "first") if size[axis] > 1 and not any(padding) else ():
            start = 1 if end == "first" else 0
            yield change(
                "reduction_too_short",
                place,
                lambda x, a=axis - 2, s=start, k=shorter: layer.operation.compute(
                    x.narrow(a, s, x.shape[a] - s), kernel_size=k
                ),
                end=end,
                axis=name,
                found=size[axis] - 1,
                wanted=size[axis],
            )


_POOLING_SETTINGS: Mapping[str, MistakeKind] = {
    "size": "pooling_size",
    "stride": "pooling_stride",
    "padding": "pooling_padding",
}


def _other_window(
    place: int, found: tuple[int, int, tuple[int, int]], right: tuple[int, int, tuple[int, int]]
) -> Change:
    names = ("size", "stride", "padding")
    different = [n for n, a, b in zip(names, found, right, strict=True) if a != b]
    return change(
        "pooling_size" if len(different) > 1 else _POOLING_SETTINGS[different[0]],
        place,
        lambda x: _largest(x, *found),
        different=tuple(different),
        size_found=found[0],
        size_wanted=right[0],
        stride_found=found[1],
        stride_wanted=right[1],
        padding_found=found[2],
        padding_wanted=right[2],
    )


def _pooled_size(layer: Layer, window: tuple[int, int, tuple[int, int]]) -> int:
    """Return how many numbers a pooling with another window gives."""
    size, stride, padding = window
    shape = layer.operation.operands[0].value.shape
    rows, columns = ((each + sum(padding) - size) // stride + 1 for each in shape[-2:])
    return int(math.prod(shape[:-2]) * rows * columns)


def _largest(x: Tensor, size: int, stride: int, padding: tuple[int, int]) -> Tensor:
    padded = functional.pad(x, padding * 2, value=float("-inf")) if any(padding) else x
    return functional.max_pool2d(padded, size, stride)


# What goes wrong between layers: one left out, repeated, exchanged, given something else.


_PRODUCTS = frozenset({"convolution", "linear", "matmul"})
"""Where the first of these is left out, what is left is the input: that has its own name."""

_MANY_ROUNDS = 1024
_MANY = 64
"""Largest number of layers of a program in which every other operand is tried."""


def order_mistakes(program: Program, place: int) -> Iterator[Change]:
    """Return what may have been done in place of a layer, whatever the layer does."""
    layer = program.layers[place]
    compute = layer.operation.compute
    if layer.operation.kind not in _PRODUCTS or layer.operation.operands[0].argument is None:
        yield change("layer_left_out", place, same, **left_out_facts(layer))
    # Without a product and its bias, what takes them has as many numbers as they take.
    whole = program.next_of(place) if layer.is_partial else None
    if whole is not None and layer.value.shape != layer.operation.operands[0].value.shape:
        yield Change("layer_left_out", whole, {place: same, whole: same}, {})
    # A ReLU of a ReLU is the same again, and a bias twice has its own name.
    if layer.operation.kind != "relu":
        yield change("relu_extra", place, after(compute, torch.relu))
    # Who divides by 8 where PyTorch divides by the root of it did not divide twice in one step.
    if layer.operation.kind != "bias" and factor_of(layer) is None:
        for twice in _repeated(layer):
            yield change("layer_repeated", place, twice)
    if layer.value.ndim > 1 and layer.value.shape[-1] == layer.value.shape[-2]:
        yield change("result_transposed", place, after(compute, _transposed), **_argument(layer))
    if layer.operation.kind in ("linear", "bias"):
        yield change("reversed", place, after(compute, partial(torch.flip, dims=(-1,))))
    yield from swapped(program, place)
    yield from _in_every_round(program, place)
    yield from _other_parameters(program, place)
    if len(program.layers) <= _MANY:
        yield from _other_operands(program, place)
        yield from _other_activated(program, place)


def _argument(layer: Layer) -> dict[str, Any]:
    """Return the fact that a layer only lays out an argument, counted from 1; nothing for others.

    To say of an image that is read the wrong way round that the result is transposed is not true.
    """
    argument = _laid_out(layer)
    return {} if argument is None else {"of": "argument", "argument": argument + 1}


def _laid_out(layer: Layer) -> int | None:
    """Return the argument that a layer lays out anew, or takes a part of; None for other layers."""
    operands = layer.operation.operands
    return None if layer.name or len(operands) != 1 else operands[0].argument


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
        for function, facts in ((_rectified_sum, {}), (_sum_of_rectified, {"of": "terms"})):
            yield change(
                "relu_in_every_round",
                place,
                lambda x, w, f=function: f(x, w.T if is_linear else w),
                **facts,
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


def _sum_of_rectified(x: Tensor, y: Tensor) -> Tensor:
    """Add up a product of matrices, of whose terms the negative ones are 0."""
    terms = range(x.shape[-1])
    return sum(torch.relu(x[..., k : k + 1] @ y[..., k : k + 1, :]) for k in terms)


def extra_mistakes(program: Program, place: int) -> Iterator[Change]:
    """Return what may have been done after a layer whose right value was there."""
    layer = program.layers[place]
    compute = layer.operation.compute
    kind: MistakeKind = "bias_twice" if layer.operation.kind == "bias" else "layer_repeated"
    for twice in _repeated(layer):
        yield change(kind, place, twice)
    yield change("relu_extra", place, after(compute, torch.relu))
    for axis in range(-1, -layer.value.ndim - 1, -1):
        yield change("softmax_extra", place, after(compute, partial(torch.softmax, dim=axis)))


def _transposed(x: Tensor) -> Tensor:
    return x.mT


def _repeated(layer: Layer) -> Iterator[Compute]:
    """Do a layer once more on what it gives: of `x * s`, both `x * s * s` and `x * (x * s)`."""
    compute, operands = layer.operation.compute, layer.operation.operands
    yield lambda x, *others: compute(compute(x, *others), *others)
    if len(operands) == 2 and all(each.is_running for each in operands):
        yield lambda x, y: compute(x, compute(x, y))


def swapped(program: Program, place: int) -> Iterator[Change]:
    """Do the layer after this one first, on one of the values that this one takes."""
    following = program.next_of(place)
    if following is None:
        return
    one, other = program.layers[place].operation, program.layers[following].operation
    taken = [at for at, each in enumerate(other.operands) if each.layer == place]
    if len(taken) != 1:
        return
    facts = exchanged(program, place, following)
    for index, operand in enumerate(one.operands):
        if operand.is_running:
            first = _in_place_of(other, taken[0], index)
            second = _with_others(one, taken[0], index)
            yield Change("order_swapped", place, {place: first, following: second}, facts)


def hurried(program: Program, place: int) -> Iterator[Change]:
    """Do the layer of one operand that follows a product, or its bias, before the product."""
    partial_ones = (each for each in program.takes[place] if program.layers[each].is_partial)
    product, following = next(partial_ones, place), program.next_of(place)
    one = program.layers[product].operation
    if one.kind not in _PRODUCTS or following is None:
        return
    other = program.layers[following].operation
    if len(other.operands) == 1:
        early = {product: lambda x, *rest: one.compute(other.compute(x), *rest), following: same}
        facts = exchanged(program, place, following, is_whole=True)
        yield Change("order_swapped", place, early, facts)


def delayed(program: Program, place: int) -> Iterator[Change]:
    """Do a layer of one operand behind the next one, which is a product and its bias.

    A ReLU that is done behind the linear layer that follows stands behind two operations.
    """
    product = program.next_of(place)
    if product is None or not program.layers[product].is_partial:
        return
    last, layer = program.next_of(product), program.layers[place]
    if last is None or len(layer.operation.operands) != 1:
        return
    behind = after(program.layers[last].operation.compute, layer.operation.compute)
    computes = {place: same, last: behind}
    yield Change("order_swapped", place, computes, exchanged(program, place, last))


_BEHIND = 8
"""Layers behind which something may have been added that belongs before them."""


def moved_behind(program: Program, place: int) -> Iterator[Change]:
    """Add what a layer adds behind one of the layers that follow, not just behind the next one.

    A bias that is added after a requantisation stands behind a product, a shift and a clamp.
    """
    layer, following = program.layers[place], program.next_of(place)
    if layer.operation.kind not in ("add", "bias"):
        return
    added = layer.operation.compute(
        torch.zeros_like(layer.operation.operands[0].value),
        *(each.value for each in layer.operation.operands[1:]),
    )
    for _ in range(_BEHIND):
        following = None if following is None else program.next_of(following)
        if following is None:
            return
        last = program.layers[following]
        if last.name and last.value.shape == layer.value.shape:
            behind = after(last.operation.compute, lambda value: value + added)
            computes = {place: same, following: behind}
            facts = exchanged(program, place, following)
            yield Change("order_swapped", place, computes, facts | _late(program, place))


def _late(program: Program, place: int) -> dict[str, Any]:
    """Return the facts of a layer that is done behind more than the next one.

    They are not those of two that are exchanged: done before the clamp of a requantisation, a bias
    is still behind its product. The bias of a linear layer is told as such.
    """
    before = program.layers[place].operation.operands[0].layer
    if before is not None and program.layers[before].is_partial:
        return {}
    following = program.next_of(place)
    while following is not None and not program.layers[following].name:
        following = program.next_of(following)
    return {} if following is None else {"part": "late", "wanted": program.layers[following].name}


def exchanged(
    program: Program, place: int, following: int, *, is_whole: bool = False
) -> dict[str, Any]:
    """Return the facts of two layers that are exchanged, of which one may be a layer's bias alone.

    Who adds the bias of a convolution behind the ReLU does the convolution first, as they should.
    `is_whole`: the product comes too late as well.
    """
    names = (program.layers[place].name, program.layers[following].name)
    is_bias = program.layers[place].operation.kind == "bias" and not is_whole
    return {"layers": names} | ({"part": "bias"} if is_bias else {})


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
                # Of the longer bias of another layer, loops read the first numbers.
                given = each.value[: operand.value.numel()] if each.value.ndim == 1 else each.value
                if not each.is_running and given.shape == operand.value.shape:
                    yield change(
                        "constant_swapped",
                        place,
                        _with(operation.compute, index, given),
                        taken=layer.name,
                    )


def _other_operands(program: Program, place: int) -> Iterator[Change]:
    """Take another value than the right one: that of an earlier layer, or an argument."""
    layer = program.layers[place]
    for index, operand in enumerate(layer.operation.operands):
        if not operand.is_running:
            continue
        for name, value, argument in _values_before(program.layers, place):
            if value.shape == operand.value.shape and value is not operand.value:
                yield change(
                    "other_operand",
                    place,
                    _with(layer.operation.compute, index, value),
                    taken=name,
                    wanted="" if operand.layer is None else program.layers[operand.layer].name,
                    **_two_arguments(argument, operand.argument),
                    **_argument_for_layer(program, argument, operand.layer),
                )


def _other_activated(program: Program, place: int) -> Iterator[Change]:
    """Take another value for both operands of an activation: `silu(s)` for `x * sigmoid(x)`."""
    for at, function in activated(program, place):
        operand = program.layers[place].operation.operands[at]
        for name, value, argument in _values_before(program.layers, place):
            if value.shape == operand.value.shape and value is not operand.value:
                yield change(
                    "other_operand",
                    place,
                    lambda *_, f=function, given=value: f(given),
                    taken=name,
                    wanted="" if operand.layer is None else program.layers[operand.layer].name,
                    **_two_arguments(argument, operand.argument),
                )


def _two_arguments(taken: int | None, wanted: int | None) -> dict[str, int]:
    """Return which argument is taken for which other one, counted from 1; nothing for layers."""
    if taken is None or wanted is None:
        return {}
    return {"taken_argument": taken + 1, "wanted_argument": wanted + 1}


def _argument_for_layer(program: Program, taken: int | None, wanted: int | None) -> dict[str, Any]:
    """Return which argument is taken for the result of which layer, or a part of it."""
    while wanted is not None and not program.layers[wanted].name:
        wanted = next(iter(program.takes[wanted]), None)
    if taken is None or wanted is None:
        return {}
    return {"taken_argument": taken + 1, "result": program.layers[wanted].name}


def _values_before(layers: Sequence[Layer], place: int) -> Iterator[tuple[str, Tensor, int | None]]:
    for layer in layers[:place]:
        if layer.name and not layer.is_partial:
            yield layer.name, torch.from_numpy(layer.value), None
    for layer in layers[: place + 1]:
        for each in layer.operation.operands:
            if each.argument is not None:
                yield "", each.value, each.argument
        # A course that goes through its cases takes a row of each argument.
        laid_out = _laid_out(layer)
        if laid_out is not None:
            yield "", torch.from_numpy(layer.value), laid_out


def _with(compute: Compute, index: int, value: Tensor) -> Compute:
    def changed(*values: Tensor) -> Tensor:
        return compute(*values[:index], value, *values[index + 1 :])

    return changed
