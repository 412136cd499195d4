"""What goes wrong in a convolution: its window, its steps, its edges."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from grader.diagnosis.mistakes_products import doubled
from grader.diagnosis.program import Change, change
from grader.evidence.operations import Layer, Tensor

_PADDINGS = range(4)
_STRIDES = range(1, 4)
_ROWS, _COLUMNS = -2, -1


def convolution_mistakes(place: int, layer: Layer) -> Iterator[Change]:
    """Return what may have been done in place of a convolution."""
    yield from _windows(place, layer)
    yield from _steps(place, layer)
    yield from _sums(place, layer)


def _windows(place: int, layer: Layer) -> Iterator[Change]:
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


def _steps(place: int, layer: Layer) -> Iterator[Change]:
    options = layer.operation.options
    for kind, name, choices in (
        ("padding", "padding", _PADDINGS),
        ("convolution_stride", "stride", _STRIDES),
        ("dilation", "dilation", _STRIDES),
    ):
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


def _sums(place: int, layer: Layer) -> Iterator[Change]:
    compute = layer.operation.compute
    weight = layer.operation.operands[1].value
    for axis, name in ((1, "channels"), (_ROWS, "rows"), (_COLUMNS, "columns")):
        extent = weight.shape[axis]
        for index, end in ((extent - 1, "last"), (0, "first")):
            if extent > 1:
                yield change(
                    "reduction_too_short",
                    place,
                    lambda x, w, a=axis, i=index: compute(x, _without(w, a, i)),
                    end=end,
                    axis=name,
                    found=extent - 1,
                    wanted=extent,
                )
    yield from doubled(place, compute)
    for axes in ((1, _ROWS, _COLUMNS), (_ROWS, _COLUMNS), (_COLUMNS,), (_ROWS,), (1,)):
        yield change(
            "initialised_in_every_round",
            place,
            lambda x, w, axes=axes: compute(x, _only_last(w, axes)),
        )


def _without(weight: Tensor, axis: int, index: int) -> Tensor:
    cleared = weight.clone()
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
