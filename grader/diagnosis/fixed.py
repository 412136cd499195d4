"""One index for all: `B[3, k, j]` reads one matrix where there are sixteen.

At which numbers a module reads its buffers is seen in the module; each is tried, and told only if
it gives the numbers that were found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.diagnosis.layers import Change, change
from grader.evidence.operations import Layer, Tensor
from grader.ir.facts import ModuleFacts

_FEW = 4
"""Of so many indices each is tried in place of a loop's, of more the first one and the last."""

_MOST = 8
"""So many numbers are tried that stand in a module: one whose loops were unrolled has more."""

Read = tuple[int, int, str]
"""Which operand is read, along which axis the index is always the same, and what has that index:
the weight, every term of a sum, an operand, one matrix of many, the bias."""

_ENDS: tuple[Read, ...] = (
    (0, -2, "first_item"),
    (0, -1, "term"),
    (1, -2, "term"),
    (1, -1, "second_item"),
)
_ITEMS: tuple[Read, ...] = (
    (0, -2, "first_item"),
    (0, -1, "first_item"),
    (1, -2, "second_item"),
    (1, -1, "second_item"),
)
_READS: dict[str, tuple[Read, ...]] = {
    "linear": ((1, 0, "weight"), (1, 1, "term"), (0, -1, "term")),
    "convolution": ((1, 0, "weight"), (1, 1, "term"), (1, 2, "term"), (1, 3, "term")),
    "matmul": _ENDS,
    "add": _ITEMS,
}


def standing_indices(facts: ModuleFacts) -> tuple[int, ...]:
    """Return the numbers at which a module reads its buffers, but 0; of many, none."""
    values = (
        store.value
        for function in facts.functions.values()
        for block in function.blocks
        for store in block.statements
    )
    found = {
        index.value
        for value in values
        for each in (() if value is None else value.walk())
        if each.kind == "load"
        for index in each.arguments
        if index.kind == "constant" and isinstance(index.value, int) and index.value > 0
    }
    return tuple(sorted(found)) if len(found) <= _MOST else ()


def fixed(place: int, layer: Layer) -> Iterator[Change]:
    """Read an operand of a layer at the first index for all, or the last; of few, at each."""
    for read in _READS[layer.operation.kind]:
        extent = _extent(layer, read)
        indices = range(extent) if extent <= _FEW else (0, extent - 1)
        for index in indices if extent > 1 else ():
            yield _at(place, layer, read, index)


def fixed_at(place: int, layer: Layer, indices: Sequence[int]) -> Iterator[Change]:
    """Read an operand of a layer at one of some indices for all."""
    for read in (*_READS.get(layer.operation.kind, ()), *_others(layer)):
        for index in indices:
            if index < _extent(layer, read):
                yield _at(place, layer, read, index)


def rivals(one: Change, layer: Layer) -> Iterator[Change]:
    """Return the same reading at two other indices: where one gives the same numbers, neither is
    the one that is read.

    In front of a softmax every row of a weight does, read for all: what is added to all alike is
    gone, as where no weight is read.
    """
    others = [one.facts["index"] + step for step in (-1, 1) if one.facts["index"] + step >= 0]
    for each in fixed_at(one.place, layer, others):
        if each.facts["operand"] == one.facts["operand"]:
            yield each


def _others(layer: Layer) -> Iterator[Read]:
    """Return what is read at its first index by mistakes of other names."""
    operands = layer.operation.operands
    if layer.operation.kind == "bias":
        yield 1, -1, "bias"
    if layer.operation.kind == "matmul" and operands[0].value.ndim == operands[1].value.ndim:
        for axis in range(operands[0].value.ndim - 2):
            yield 0, axis, "first_matrix"
            yield 1, axis, "second_matrix"


def _extent(layer: Layer, read: Read) -> int:
    """Return how many indices there are, 1 where the operand has no such axis."""
    operand, axis, _ = read
    shape = layer.operation.operands[operand].value.shape
    return shape[axis] if -len(shape) <= axis < len(shape) else 1


def _at(place: int, layer: Layer, read: Read, index: int) -> Change:
    operand, axis, name = read

    def changed(*values: Tensor) -> Tensor:
        given = list(values)
        given[operand] = given[operand].narrow(axis, index, 1).expand_as(given[operand])
        return layer.operation.compute(*given)

    return change("index_fixed", place, changed, operand=name, index=index)
