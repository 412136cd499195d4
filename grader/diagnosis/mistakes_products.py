"""What goes wrong in a product of matrices, a bias, a sum of two tensors, a softmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from grader.diagnosis.fixed import fixed
from grader.diagnosis.layers import Change, change
from grader.evidence.operations import Compute, Layer, Tensor

_FACTORS = (2, 4, 8, 16, 32, 64)
"""By which loops are split, mostly."""


def linear_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of x @ weight.T."""
    weight = layer.operation.operands[1].value
    rows, columns = weight.shape
    # Only a square weight fits as it is; another one is made to fit by a reshape, which mixes its
    # rows.
    if rows == columns:
        yield change("weight_not_transposed", place, lambda x, w: x @ w, is_reshaped=False)
    yield change(
        "weight_not_transposed",
        place,
        lambda x, w: x @ w.reshape(w.shape[1], w.shape[0]),
        is_reshaped=True,
    )
    yield from _short(place, lambda x, w: x @ w.T, columns, (rows,))
    yield from fixed(place, layer)


def matmul_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of a product, of matrices or of several at a time."""
    left, right = (each.value for each in layer.operation.operands)
    if left.ndim < 2 or right.ndim < 2:
        return
    if right.shape[-1] == right.shape[-2]:
        yield change("transposed", place, lambda x, y: x @ y.mT, operand="second")
    if left.shape[-1] == left.shape[-2]:
        yield change("transposed", place, lambda x, y: x.mT @ y, operand="first")
        yield change("transposed", place, lambda x, y: x.mT @ y.mT, operand="both")
    yield change("operands_swapped", place, lambda x, y: y @ x)
    yield change("operands_swapped", place, lambda x, y: (y @ x).mT)
    if right.shape[-1] != right.shape[-2]:
        yield change(
            "transposed",
            place,
            lambda x, y: x @ y.mT.reshape(y.shape),
            operand="second",
            is_reshaped=True,
        )
    others = left.shape[-2], right.shape[-1]
    yield from _short(place, torch.matmul, left.shape[-1], others)
    for axis in range(left.ndim - 2):
        if left.ndim == right.ndim and left.shape[axis] > 1:
            yield change(
                "index_fixed",
                place,
                lambda x, y, a=axis: x @ y.narrow(a, 0, 1),
                operand="second",
            )
            yield change(
                "index_fixed", place, lambda x, y, a=axis: x.narrow(a, 0, 1) @ y, operand="first"
            )
    yield from fixed(place, layer)


_MOST_TERMS = 1024


def term_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been summed up in place of products.

    They come last: a sum of `x` alone is the same for all columns, and nothing behind a softmax.
    """
    is_linear = layer.operation.kind == "linear"
    yield from _terms(place, layer, (lambda w: w.T) if is_linear else (lambda w: w))


def _terms(place: int, layer: Layer, turned: Callable[[Tensor], Tensor]) -> Iterator[Change]:
    """Return a sum of other terms than products, or begun with another number, or no sum.

    `turned` makes the second factor of the second operand, such as its transpose.
    """

    def products(x: Tensor, w: Tensor) -> Tensor:
        return x @ turned(w)

    def of_first(x: Tensor, w: Tensor) -> Tensor:
        return products(x, torch.ones_like(w))

    def of_second(x: Tensor, w: Tensor) -> Tensor:
        return products(torch.ones_like(x), w)

    others: tuple[tuple[str, Compute], ...] = (
        ("x + w", lambda x, w: of_first(x, w) + of_second(x, w)),
        ("x - w", lambda x, w: of_first(x, w) - of_second(x, w)),
        ("w - x", lambda x, w: of_second(x, w) - of_first(x, w)),
        ("x / w", lambda x, w: products(x, 1 / w)),
        ("x", of_first),
        ("w", of_second),
    )
    for found, compute in others:
        yield change("wrong_terms", place, compute, found=found)
    for amount in (-1, 1):
        yield change(
            "bias_extra",
            place,
            lambda x, w, a=amount: products(x, w) + a,
            form="constant",
            amount=float(amount),
        )
    extent = layer.operation.operands[0].value.shape[-1]
    for found, choose in (("largest", torch.maximum), ("smallest", torch.minimum)):
        if 1 < extent <= _MOST_TERMS:
            yield change(
                "largest_for_sum",
                place,
                lambda x, w, f=choose: _chosen_term(x, turned(w), f),
                found=found,
            )


def _chosen_term(x: Tensor, w: Tensor, choose: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return the largest or smallest term of each sum of a product."""
    total = x[..., :1] @ w[..., :1, :]
    for term in range(1, x.shape[-1]):
        total = choose(total, x[..., term : term + 1] @ w[..., term : term + 1, :])
    return total


def _short(place: int, compute: Compute, extent: int, others: Sequence[int]) -> Iterator[Change]:
    """Return a sum with a term missing, of as many as `others`, or of its last term alone."""
    is_linear = compute is not torch.matmul
    axis = -1 if is_linear else -2
    for name, kept in _kept(extent, others):
        yield change(
            "reduction_too_short",
            place,
            lambda x, w, k=kept: compute(x.index_select(-1, k), w.index_select(axis, k)),
            end=name,
            axis="terms",
            found=len(kept),
            wanted=extent,
        )
    yield from doubled(place, compute)
    # Initialised within its loop, a sum is its last term; with the loop the other way round, its
    # first.
    for start in (extent - 1, 0):
        yield change(
            "initialised_in_every_round",
            place,
            lambda x, w, s=start: _some(compute(x.narrow(-1, s, 1), w.narrow(axis, s, 1))),
        )


def _some(term: Tensor) -> Tensor:
    """Return one term of a sum. Raises ValueError where it is 0 everywhere, and tells nothing."""
    if not term.any():
        raise ValueError("a term of zeros")
    return term


def _kept(extent: int, others: Sequence[int]) -> Iterator[tuple[str, Tensor]]:
    """Return which terms of a sum are left where its loop, or one of two that it was split into,
    is one round too short, or where it goes along an axis of the output.
    """
    every = torch.arange(extent)
    yield "last", every[:-1]
    yield "first", every[1:]
    yield from (("last", every[:each]) for each in dict.fromkeys(others) if 1 < each < extent - 1)
    for factor in _FACTORS:
        # Of a loop that was split by 4, the outer part one round short misses the last 4 terms, the
        # inner one every fourth.
        if extent > factor and extent % factor == 0:
            yield "last", every[:-factor]
            yield "inner", every[every % factor != factor - 1]


def doubled(place: int, compute: Compute) -> Iterator[Change]:
    """Return sums of twice the right size, or more.

    They go on where the last one ended, or a factor is in what they are taken of: which of the two
    the numbers do not say.
    """
    for times in (2, 3):
        yield change(
            "scaled", place, lambda *given, n=times: n * compute(*given), of="sum", factor=times
        )


def bias_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of adding a bias."""
    axis = layer.operation.options["axis"]
    yield change("bias_missing", place, lambda x, _b: x)
    yield change(
        "operand_missing",
        place,
        lambda x, b: layer.operation.compute(torch.zeros_like(x), b),
        operand="product",
    )
    yield change("bias_twice", place, lambda x, b: layer.operation.compute(x, 2 * b))
    yield change("operand_twice", place, lambda x, _b: x + x, operand="first")
    yield change("bias_subtracted", place, lambda x, b: layer.operation.compute(x, -b))
    yield change(
        "multiplied", place, lambda x, b: x * layer.operation.compute(torch.zeros_like(x), b)
    )
    yield change("bias_first_item", place, lambda x, b: x + b[0])
    for other in range(-layer.value.ndim, 0):
        if other != axis:
            yield change(
                "bias_axis",
                place,
                lambda x, b, o=other: layer.operation.compute(x, b, axis=o),
                found=other,
                wanted=axis,
            )


def add_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of adding two tensors."""
    yield change("operand_missing", place, lambda x, _y: x, operand="second")
    yield change("operand_missing", place, lambda _x, y: y, operand="first")
    yield change("operand_twice", place, lambda x, _y: x + x, operand="first")
    yield change("operand_twice", place, lambda _x, y: y + y, operand="second")
    yield change("subtracted", place, lambda x, y: x - y)
    yield change("multiplied", place, lambda x, y: x * y)
    yield change("added_to_columns", place, _other_axis)
    yield from fixed(place, layer)


def _other_axis(x: Tensor, y: Tensor) -> Tensor:
    """Add a row along the columns. A column, which PyTorch adds there, is not what is told of."""
    return x + y.mT if y.shape[-2] == 1 else x + y


def relu_mistakes(place: int, _layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of a ReLU."""
    yield change("relu_missing", place, lambda x: x)
    yield change("relu_inverted", place, lambda x: x.clamp(max=0))
    yield change("relu_absolute", place, torch.abs)


def axis_from_the_end(layer: Layer) -> int:
    """Return the axis of a softmax, counted from the last one (-1, -2, ...).

    PyTorch's operand may have one axis more than the layer's value, in front, over cases.
    """
    axis: int = layer.operation.options["axis"]
    return axis - layer.operation.operands[0].value.ndim if axis >= 0 else axis


def softmax_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of a softmax."""
    ndim = layer.value.ndim
    wanted = axis_from_the_end(layer)
    yield change("softmax_missing", place, lambda x: x, along=ndim + wanted)
    for axis in range(-ndim, 0):
        if axis != wanted:
            yield change(
                "softmax_axis",
                place,
                lambda x, a=axis: torch.softmax(x, a),
                found=ndim + axis,
                wanted=ndim + wanted,
            )
    yield change("softmax_of_all", place, lambda x: torch.softmax(x.reshape(-1), 0))
    yield change("softmax_logarithm", place, lambda x: torch.log_softmax(x, wanted))
    yield change("softmax_not_divided", place, lambda x: torch.exp(x))
    yield change(
        "softmax_not_divided",
        place,
        lambda x: torch.exp(x - x.amax(wanted, keepdim=True)),
    )
    yield change("softmax_without_exponential", place, lambda x: x / x.sum(wanted, keepdim=True))
    extent = layer.value.shape[wanted]
    for end, start in (("last", 0), ("first", 1)):
        yield change(
            "reduction_too_short",
            place,
            lambda x, s=start: (
                torch.exp(x) / torch.exp(x).narrow(wanted, s, extent - 1).sum(wanted, keepdim=True)
            ),
            end=end,
            axis="terms",
            found=extent - 1,
            wanted=extent,
        )


def flatten_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of putting all axes in a row."""
    ndim = layer.operation.operands[0].value.ndim
    if ndim == 4:
        yield change(
            "flatten_order",
            place,
            lambda x: layer.operation.compute(x.permute(0, 2, 3, 1)),
            found="NHWC",
        )
        yield change(
            "flatten_order",
            place,
            lambda x: layer.operation.compute(x.permute(0, 1, 3, 2)),
            found="NCWH",
        )
