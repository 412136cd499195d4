"""Which integers lowered TIR can have, and the checks that are written down while it is read.

There is no division that rounds down, nor `clz`: TVM has made others of them
(`grader.inside.common.allocations: pipeline`).

An interval always contains every value, so what lies within the bounds needs no check at run time.
Arithmetic is Python's, which has no largest number. What an interval cannot show is left to a
check, so a wide one costs time and is never wrong.

Where nothing is decided by what stands in buffers, an integer that overflows is a wrong number and
no more: it can be stored, and nothing else. A sum of 64-bit integers that was never set to zero
began with whatever was there, and was told that its indices were wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import tvm
import tvm_ffi
from tvm import tirx

from grader.messages.runner import Violation, ViolationKind

Expression = Any


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
    "Div": divide,
    "Mod": modulo,
}
DIVISIONS = frozenset({"Div", "Mod"})
COMPARISONS = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"})


LANES_LIMIT = 64
"""Most items of a vector of indices that are checked one by one; none of today's processors has
more. A ramp, which is what loads and stores have, may be of any length."""


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


class Site(NamedTuple):
    """A place in a program where something may go wrong: `size` is how many items there are."""

    kind: ViolationKind
    subject: str
    size: int = 0
    function: str = ""

    def violation(self, value: int) -> Violation:
        """Return what is told when it went wrong, with the index, or whatever it was."""
        return Violation(self.kind, self.function, self.subject, value, self.size)


class GuardCheck(NamedTuple):
    """`holds` must be true; where it is not, `value` is what is told, as an integer of 64 bits."""

    holds: Expression
    value: Expression
    site: Site


class Demands:
    """The checks of one statement after the other.

    `for_all_inputs` refuses those that depend on what is in a buffer.
    """

    def __init__(self, *, for_all_inputs: bool) -> None:
        self.checks: list[GuardCheck] = []
        self._for_all_inputs = for_all_inputs
        self._drawn_from_data: set[int] = set()
        self._under_data = 0
        self._around: list[tuple[Any, Expression]] = []

    def add(self, holds: Any, value: Any, kind: ViolationKind, subject: str, size: int = 0) -> None:
        """Write down a check, which is evaluated by what is known there: variables, conditions."""
        conditions = (each for variable, each in self._around if variable is None)
        if self._under_data or any(map(self._depends_on_data, (holds, *conditions))):
            raise Unguarded(f"{kind} that depends on data")
        for variable, each in reversed(self._around):
            if variable is None:
                holds = tirx.if_then_else(each, holds, tirx.const(True))
            else:
                holds, value = (tirx.Let(variable, each, inner) for inner in (holds, value))
        site = Site(kind, str(subject)[:100], size)
        self.checks.append(GuardCheck(holds, value, site))

    def draw(self, variable: Any, *sources: Expression) -> None:
        """Take down from what a variable's value comes."""
        if any(self._depends_on_data(each) for each in sources):
            self._drawn_from_data.add(hash(variable))

    @contextmanager
    def where(self, each: Expression, variable: Any = None) -> Iterator[None]:
        """Write down what need only hold where a condition does, or a variable has a value."""
        self._around.append((variable, each))
        try:
            yield
        finally:
            self._around.pop()

    @contextmanager
    def depending_on(self, *deciding: Expression) -> Iterator[None]:
        """Read what is only done, or done so often, by the values of some expressions."""
        depends = any(self._depends_on_data(each) for each in deciding)
        self._under_data += depends
        try:
            yield
        finally:
            self._under_data -= depends

    def _depends_on_data(self, expression: Expression) -> bool:
        """Say whether an expression's value may be another one for other inputs."""
        if not self._for_all_inputs:
            return False
        found = tvm_ffi.structural_walk(
            expression,
            [(tvm.ir.TensorLoad, _stop), (tirx.Var, self._stop_at_data)],
        )
        return found is not None

    def _stop_at_data(self, variable: Any) -> Any:
        return _stop(variable) if hash(variable) in self._drawn_from_data else None


def _stop(_: Any) -> Any:
    return tvm_ffi.VisitInterrupt()


def decides_by_contents(body: Any) -> bool:
    """Say whether a load stands anywhere in lowered TIR where its value decides something."""
    found = tvm_ffi.structural_walk(
        body,
        [
            (tvm.ir.TensorLoad, lambda each: _stop_at_load(*each.indices)),
            (tirx.BufferStore, lambda each: _stop_at_load(*each.indices)),
            (tirx.For, lambda each: _stop_at_load(each.min, each.extent)),
            (tirx.IfThenElse, lambda each: _stop_at_load(each.condition)),
            (tirx.While, lambda each: _stop_at_load(each.condition)),
            (tirx.AssertStmt, lambda each: _stop_at_load(each.condition)),
            (tirx.Evaluate, lambda each: _stop_at_load(each.value)),
            (tirx.AllocBuffer, lambda each: _stop_at_load(*each.buffer.shape)),
            (tirx.Bind, lambda each: _stop_at_load(each.value)),
            (tirx.Let, lambda each: _stop_at_load(each.value)),
            (tvm.ir.Call, _stop_at_choice),
            (tvm.ir.prim.Div, _stop_at_divisor),
            (tvm.ir.prim.Mod, _stop_at_divisor),
        ],
    )
    return found is not None


def _stop_at_choice(call: Any) -> Any:
    """Look at all that a call takes, but for the values that `if_then_else` chooses from."""
    name = str(getattr(call.op, "name", ""))
    return _stop_at_load(*(call.args[:1] if name == "prim.if_then_else" else call.args))


def _stop_at_divisor(division: Any) -> Any:
    is_integer = "int" in str(division.b.ty.dtype)
    return _stop_at_load(division.b) if is_integer else None


def _stop_at_load(*expressions: Any) -> Any:
    loads = [(tvm.ir.TensorLoad, lambda _: tvm_ffi.VisitInterrupt())]
    if any(tvm_ffi.structural_walk(each, loads) is not None for each in expressions):
        return tvm_ffi.VisitInterrupt()
    return None
