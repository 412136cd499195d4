"""What goes wrong in a pooling: its window, its stride, its edges, what it takes of a window."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from torch.nn import functional

from grader.diagnosis.program import Change, change
from grader.evidence.operations import Layer, Tensor

_SIZES = (2, 3, 1, 4, 5)
_STRIDES = (2, 1, 3, 4)
_PADDINGS = ((0, 0), (1, 1), (0, 1), (1, 0), (0, 2), (2, 2))
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
    yield from _short(place, layer)
    if len({*size}) > 1 or len({*stride}) > 1 or len({*padding}) > 1:
        return  # windows that are no squares: which of their extents is wrong is not looked for
    right = (size[0], stride[0], (padding[0], padding[0]))
    found = list(product(_SIZES, _STRIDES, _PADDINGS))
    found.sort(key=lambda each: sum(a != b for a, b in zip(each, right, strict=True)))
    for one in found:
        if one != right and max(one[2]) < one[0]:
            yield _windows(place, one, right)._replace(size=_size(layer, one))


def _short(place: int, layer: Layer) -> Iterator[Change]:
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


def _windows(
    place: int, found: tuple[int, int, tuple[int, int]], right: tuple[int, int, tuple[int, int]]
) -> Change:
    names = ("size", "stride", "padding")
    different = [n for n, a, b in zip(names, found, right, strict=True) if a != b]
    kind = f"pooling_{'size' if len(different) > 1 else different[0]}"
    return change(
        kind,
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


def _size(layer: Layer, window: tuple[int, int, tuple[int, int]]) -> int:
    """Return how many numbers a pooling with another window gives."""
    size, stride, padding = window
    shape = layer.operation.operands[0].value.shape
    rows, columns = ((each + sum(padding) - size) // stride + 1 for each in shape[-2:])
    return int(math.prod(shape[:-2]) * rows * columns)


def _largest(x: Tensor, size: int, stride: int, padding: tuple[int, int]) -> Tensor:
    padded = functional.pad(x, padding * 2, value=float("-inf")) if any(padding) else x
    return functional.max_pool2d(padded, size, stride)
