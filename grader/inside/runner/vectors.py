"""Vectors of integers in lowered TIR, taken apart into their items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm import tirx

from grader.inside.runner.ranges import COMPARISONS, OPERATIONS, Interval

LANES_LIMIT = 64
"""Most items of a vector of indices that are checked one by one; none of today's processors has
more. A ramp, which is what loads and stores have, may be of any length."""

Expression = Any


class Unguarded(Exception):  # noqa: N818  it is a program's fault, not an error of the runner
    """Raised where a program has something that cannot be checked; the text says what."""


def wide(expression: Expression) -> Expression:
    """Return an integer as one of 64 bits."""
    return expression if str(expression.ty.dtype) == "int64" else tirx.Cast("int64", expression)


def within(expression: Expression, values: Interval) -> Expression:
    """Return whether an integer of 64 bits lies in an interval."""
    low, high = (tirx.const(each, "int64") for each in values)
    return tirx.And(expression >= low, expression <= high)


def bits_of(expression: Expression) -> int:
    """Return the bits of a number, or of each item of a vector."""
    return int(expression.ty.dtype.bits)


def lanes_of(expression: Expression) -> int:
    """Return how many items a vector has; a number has one."""
    return int(expression.ty.dtype.lanes)


def ends_of(index: Expression) -> list[Expression]:
    """Return indices, as integers of 64 bits, which lie in a buffer if all of a vector's do."""
    if type(index).__name__ == "Ramp":
        last = wide(index.base) + wide(index.stride) * (lanes_of(index) - 1)
        return [wide(index.base), last]
    return [wide(each) for (each,) in each_lane(index)]


def each_lane(*expressions: Expression) -> Iterator[tuple[Expression, ...]]:
    """Return the items of vectors of one length, side by side; a number is its only item."""
    lanes = lanes_of(expressions[0])
    if lanes == 1:
        yield expressions
        return
    if lanes > LANES_LIMIT:
        raise Unguarded(f"a vector of {lanes} indices")
    for lane in range(lanes):
        yield tuple(_item(each, lane) for each in expressions)


def _item(vector: Expression, lane: int) -> Expression:
    """Return one item of a vector as an expression of its own."""
    kind = type(vector).__name__
    if kind == "Ramp":
        return vector.base + vector.stride * lane
    if kind == "Broadcast":
        return vector.value
    if kind in OPERATIONS or kind in COMPARISONS:
        return type(vector)(_item(vector.a, lane), _item(vector.b, lane))
    if kind == "Cast":
        scalar = str(vector.ty.dtype).rsplit("x", 1)[0]
        return tirx.Cast(scalar, _item(vector.value, lane))
    if kind == "TensorLoad" and len(vector.indices) == 1 and lanes_of(vector.indices[0]) > 1:
        return vector.source[_item(vector.indices[0], lane)]
    raise Unguarded(f"a vector made by {kind}")
