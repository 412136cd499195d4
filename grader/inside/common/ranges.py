"""Which integers an expression of lowered TIR can have: intervals, and items of vectors.

An interval always contains every value, so what lies within the bounds needs no check at run time.
Arithmetic is Python's, which has no largest number. What an interval cannot show is left to a
check, so a wide one costs time and is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tvm import tirx


class Interval(NamedTuple):
    """The integers from `low` to `high`, both included."""

    low: int
    high: int

    def holds(self, other: Interval) -> bool:
        """Say whether another interval lies in this one."""
        return self.low <= other.low and other.high <= self.high

    def joined(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def cut(self, other: Interval) -> Interval:
        """Return what both have in common; this one where that is nothing."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else self


BIT = Interval(0, 1)


def of_integers(bits: int, *, signed: bool) -> Interval:
    """Return the values that an integer of so many bits can have."""
    if signed:
        return Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return Interval(0, 2**bits - 1)


def add(left: Interval, right: Interval) -> Interval:
    """Return the interval of a sum."""
    return Interval(left.low + right.low, left.high + right.high)


def subtract(left: Interval, right: Interval) -> Interval:
    """Return the interval of a difference."""
    return Interval(left.low - right.high, left.high - right.low)


def multiply(left: Interval, right: Interval) -> Interval:
    """Return the interval of a product."""
    ends = [a * b for a in left for b in right]
    return Interval(min(ends), max(ends))


def least(left: Interval, right: Interval) -> Interval:
    """Return the interval of a minimum."""
    return Interval(min(left.low, right.low), min(left.high, right.high))


def greatest(left: Interval, right: Interval) -> Interval:
    """Return the interval of a maximum."""
    return Interval(max(left.low, right.low), max(left.high, right.high))


def floor_divide(left: Interval, right: Interval) -> Interval:
    """Return the interval of a quotient, rounded down; `right` is not zero."""
    if right.low <= 0:
        return _no_larger(left)
    ends = [a // b for a in left for b in right]
    return Interval(min(ends), max(ends))


def floor_modulo(left: Interval, right: Interval) -> Interval:
    """Return the interval of the rest of a division that rounds down; `right` is not zero."""
    if right.low <= 0:
        most = max(-right.low, right.high)
        return Interval(1 - most, most - 1)
    if right.low == right.high and left.low // right.low == left.high // right.low:
        return Interval(left.low % right.low, left.high % right.low)
    return Interval(0, right.high - 1)


def divide(left: Interval, right: Interval) -> Interval:
    """Return the interval of a quotient, rounded towards zero; `right` is not zero."""
    if right.low <= 0:
        return _no_larger(left)
    ends = [_towards_zero(a, b) for a in left for b in right]
    return Interval(min(ends), max(ends))


def modulo(left: Interval, right: Interval) -> Interval:
    """Return the interval of the rest of a division towards zero; `right` is not zero."""
    most = max(-right.low, right.high) - 1
    return Interval(0 if left.low >= 0 else -most, 0 if left.high <= 0 else most).cut(
        Interval(min(left.low, 0), max(left.high, 0))
    )


def _no_larger(left: Interval) -> Interval:
    """Return where a quotient lies whatever it is divided by, if that is not zero."""
    most = max(abs(left.low), abs(left.high))
    return Interval(-most, most)


def _towards_zero(dividend: int, divisor: int) -> int:
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


OPERATIONS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "Add": add,
    "Sub": subtract,
    "Mul": multiply,
    "Min": least,
    "Max": greatest,
    "FloorDiv": floor_divide,
    "FloorMod": floor_modulo,
    "Div": divide,
    "Mod": modulo,
}
DIVISIONS = frozenset({"FloorDiv", "FloorMod", "Div", "Mod"})
COMPARISONS = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"})


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
