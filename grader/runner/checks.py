"""What must hold before an expression of lowered TIR is evaluated, and before an access is made.

A reader goes through an expression in the order in which it is evaluated, and writes down a check
for everything that intervals do not show to be right. A check is evaluated where all earlier ones
hold: so the one of `a[b[i]]` may read `b[i]`. What only one branch of an `if_then_else` evaluates
is checked only where that branch is taken. Both operands of And and Or are evaluated, and both
values of a Select: that is what TVM's code generator does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import tvm_ffi
from tvm import tirx

from grader.messages import Violation, ViolationKind
from grader.runner.ranges import BIT, DIVISIONS, OPERATIONS, Interval, add, multiply, of_integers

LANES_LIMIT = 64
"""Most items of a vector of indices that are checked one by one; none of today's processors has
more. A ramp, which is what loads and stores have, may be of any length."""

LARGE = 2**62
"""Integers of 64 bits may be so large: their results are looked at as floating-point numbers."""

LOOP_MARGIN = 4096
"""How far the end of a loop must stay away from the largest integer: it is divided up among
threads, which rounds it up."""

Expression = Any
SizeOf = Callable[[Any], tuple[str, Any]]

_COMPARISONS = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"})
_HANDED_ON = frozenset({"prim.likely"})
_ADDRESSES = frozenset({"tirx.buffer_data", "tirx.address_of", "tirx.tvm_access_ptr"})
_SHIFTS = frozenset({"tirx.shift_left", "tirx.shift_right", "prim.shift_left", "prim.shift_right"})


class Unguarded(Exception):  # noqa: N818  it is a program's fault, not an error of the runner
    """Raised where a program has something that cannot be checked; the text says what."""


class Site(NamedTuple):
    """A place in a program where something may go wrong: `size` is how many items there are."""

    kind: ViolationKind
    subject: str
    size: int = 0
    function: str = ""

    def violation(self, value: int) -> Violation:
        """Return what is told when it went wrong, with the index, or whatever it was."""
        return Violation(self.kind, self.function, self.subject, value, self.size)


class Check(NamedTuple):
    """`holds` must be true; where it is not, `value` is what is told, as an integer of 64 bits."""

    holds: Expression
    value: Expression
    site: Site


class Reader:
    """Reads the expressions of one function; `size_of` knows its buffers.

    `checks` are those of the statement that was begun last.
    """

    def __init__(self, size_of: SizeOf) -> None:
        self.checks: list[Check] = []
        self._size_of = size_of
        self._variables: dict[int, Interval] = {}
        self._conditions: list[Expression] = []
        self._bound: dict[int, Expression] = {}
        self._known: list[dict[int, Interval | None]] = []
        self._readers: dict[str, Callable[[Any], Interval | None]] = {
            "Broadcast": lambda each: self.read(each.value),
            "Call": self._call,
            "Cast": self._cast,
            "FloatImm": lambda _: None,
            "IntImm": lambda each: Interval(int(each.value), int(each.value)),
            "Let": self._let,
            "Not": self._not,
            "Ramp": self._ramp,
            "Select": self._select,
            "StringImm": lambda _: None,
            "TensorLoad": self._load,
            "Var": self._variable,
            **dict.fromkeys(OPERATIONS, self._operation),
            **dict.fromkeys(_COMPARISONS, self._comparison),
        }

    def begin(self) -> None:
        """Begin with a statement."""
        self.checks = []
        self._known = [{}]

    def bind(self, variable: Any, values: Interval | None) -> None:
        """Take down which values a variable has; None where it is no integer."""
        if values is not None:
            self._variables[hash(variable)] = values

    def bind_loop(self, variable: Any, start: Any, extent: Any, step: Any) -> None:
        """Read a loop's bounds and take down what its variable is."""
        first, count = self._demand(start), self._demand(extent)
        stride = Interval(1, 1) if step is None else self._demand(step)
        if stride.low < 1:
            raise Unguarded(f"the steps of the loop {variable.name}")
        end = add(first, count)
        largest = _range_of(variable).high - stride.high - LOOP_MARGIN
        if end.high > largest:
            total = _wide(start) + _wide(extent)
            self._add(total <= tirx.const(largest, "int64"), total, "overflow", variable.name)
            end = Interval(end.low, largest)
        self.bind(variable, Interval(first.low, max(first.low, end.high - 1)))

    def demand_size(self, buffer: Any, item_bytes: int, limit: int) -> None:
        """Demand that a buffer has at most so many bytes, and no negative extent."""
        size: Any = 1
        for extent in buffer.shape:
            size = size * tirx.Cast("float64", extent)
            if not isinstance(extent, tirx.IntImm) or extent.value < 0:
                nothing = tirx.const(0, "int64")
                self._add(_wide(extent) >= nothing, _wide(extent), "allocation", buffer.name)
        if all(isinstance(extent, tirx.IntImm) for extent in buffer.shape):
            size = item_bytes
            for extent in buffer.shape:
                size *= int(extent.value)
            if size > limit:
                value = tirx.const(min(size, LARGE), "int64")
                self._add(tirx.const(False), value, "allocation", buffer.name)
            return
        holds = size * tirx.const(float(item_bytes), "float64") <= tirx.const(limit, "float64")
        self._add(holds, _wide(buffer.shape[0]), "allocation", buffer.name)

    # --- expressions ------------------------------------------------------------------------------

    def read(self, expression: Expression) -> Interval | None:
        """Write down what must hold for an expression; return its values, if it is an integer.

        Raises Unguarded.
        """
        place = hash(expression)
        for known in self._known:
            if place in known:
                return known[place]
        reader = self._readers.get(type(expression).__name__)
        if reader is None:
            raise Unguarded(f"an expression {type(expression).__name__}")
        values = reader(expression)
        self._known[-1][place] = values
        return values

    def _demand(self, expression: Expression) -> Interval:
        """Read an integer."""
        values = self.read(expression)
        if values is None:
            raise Unguarded("a number that is no integer")
        return values

    def _variable(self, variable: Any) -> Interval | None:
        return self._variables.get(hash(variable)) or _range_or_none(variable)

    def _comparison(self, expression: Any) -> Interval:
        self.read(expression.a)
        self.read(expression.b)
        return BIT

    def _not(self, expression: Any) -> Interval:
        self.read(expression.a)
        return BIT

    def _select(self, expression: Any) -> Interval | None:
        self.read(expression.condition)
        return _joined(self.read(expression.true_value), self.read(expression.false_value))

    def _let(self, expression: Any) -> Interval | None:
        self.bind(expression.var, self.read(expression.value))
        self._bound[hash(expression.var)] = self._substituted(expression.value)
        return self.read(expression.body)

    def _ramp(self, expression: Any) -> Interval:
        base, stride = self._demand(expression.base), self._demand(expression.stride)
        lanes = _lanes(expression)
        values, most = add(base, multiply(stride, Interval(0, lanes - 1))), _range_of(expression)
        if not most.holds(values):
            last = _wide(expression.base) + _wide(expression.stride) * (lanes - 1)
            self._add(_within(last, most), last, "overflow", "")
        return values.cut(most)

    def _cast(self, expression: Any) -> Interval | None:
        values, most = self.read(expression.value), _range_or_none(expression)
        if most is None:
            return None
        if values is None:
            self._demand_number(expression, most)
        elif most.holds(values):
            return values
        return most

    def _demand_number(self, expression: Any, most: Interval) -> None:
        """Demand that a floating-point number fits the integer that it becomes; NaN does not."""
        if not str(expression.value.ty.dtype).startswith(("float", "bfloat")):
            return
        low, high = (tirx.const(float(each), "float64") for each in (most.low, most.high + 1))
        for (number,) in _each_lane(expression.value):
            wide = tirx.Cast("float64", number)
            zero = tirx.const(0, "int64")
            self._add(tirx.And(wide >= low, wide < high), zero, "conversion", "")

    def _operation(self, expression: Any) -> Interval | None:
        kind = type(expression).__name__
        left, right = self.read(expression.a), self.read(expression.b)
        if left is None or right is None:
            return None
        if kind in DIVISIONS and right.low <= 0 <= right.high:
            for (divisor,) in _each_lane(expression.b):
                self._add(_wide(divisor) != 0, tirx.const(0, "int64"), "division", "")
        values, most = OPERATIONS[kind](left, right), _range_of(expression)
        if most.holds(values):
            return values
        if _range_bits(expression) < 32:
            return most  # LLVM is told that these wrap around
        for a, b in _each_lane(expression.a, expression.b):
            self._demand_no_overflow(type(expression), a, b, most)
        return values.cut(most)

    def _demand_no_overflow(self, kind: Any, a: Any, b: Any, most: Interval) -> None:
        """Compute once more, wider: that tells whether the result fits."""
        if _range_bits(a) < 64:
            result = kind(_wide(a), _wide(b))
            self._add(_within(result, most), result, "overflow", "")
            return
        if most.low == 0 and kind.__name__ == "Sub":
            self._add(a >= b, tirx.const(0, "int64"), "overflow", "")
            return
        as_float = {"FloorDiv": tirx.Div}.get(kind.__name__, kind)
        result = as_float(tirx.Cast("float64", a), tirx.Cast("float64", b))
        large = tirx.const(float(LARGE), "float64")
        holds = tirx.And(-large < result, result < large)
        self._add(holds, tirx.const(0, "int64"), "overflow", "")

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, call: Any) -> Interval | None:
        name = str(getattr(call.op, "name", ""))
        if name in _ADDRESSES:
            return None
        if name == "prim.if_then_else":
            return self._if_then_else(*call.args)
        values = [self.read(each) for each in call.args]
        if name in _HANDED_ON:
            return values[0]
        if name == "tirx.undef":
            raise Unguarded("a value that is not there")
        if name == "tirx.assume":
            self._add(call.args[0], tirx.const(0, "int64"), "assumption", "")
        elif name == "prim.clz":
            for (number,) in _each_lane(call.args[0]):
                self._add(_wide(number) != 0, tirx.const(0, "int64"), "division", "")
        elif name in _SHIFTS:
            self._shift(call)
        return _range_or_none(call)

    def _if_then_else(self, condition: Any, one: Any, other: Any) -> Interval | None:
        self.read(condition)
        with self._where(condition):
            values = self.read(one)
        with self._where(tirx.Not(condition)):
            return _joined(values, self.read(other))

    def _shift(self, call: Any) -> None:
        bits = Interval(0, _range_bits(call) - 1)
        values = self.read(call.args[1])
        if values is not None and bits.holds(values):
            return
        for (count,) in _each_lane(call.args[1]):
            self._add(_within(_wide(count), bits), _wide(count), "overflow", "")

    @contextmanager
    def _where(self, condition: Expression) -> Iterator[None]:
        """Read what is only evaluated where a condition holds."""
        self._conditions.append(condition)
        self._known.append({})
        try:
            yield
        finally:
            self._known.pop()
            self._conditions.pop()

    # --- accesses ---------------------------------------------------------------------------------

    def _load(self, load: Any) -> Interval | None:
        self.access(load.source, load.indices)
        return _range_or_none(load)

    def access(self, buffer: Any, indices: Sequence[Expression]) -> None:
        """Read the index of an access, and demand that it lies in its buffer."""
        if len(indices) != 1:
            raise Unguarded(f"the buffer {buffer.name} of several axes")
        name, size = self._size_of(buffer)
        values = self._demand(indices[0])
        constant = isinstance(size, int)
        if constant and 0 <= values.low and values.high < size:
            return
        limit = tirx.const(size, "int64") if constant else size
        site_size = size if constant else 0
        for index in _ends(indices[0]):
            holds = tirx.And(index >= tirx.const(0, "int64"), index < limit)
            self._add(holds, index, "index", name, site_size)

    # --- checks -----------------------------------------------------------------------------------

    def _add(
        self, holds: Any, value: Any, kind: ViolationKind, subject: str, size: int = 0
    ) -> None:
        """Write down a check, which is only evaluated where the conditions hold."""
        for condition in reversed(self._conditions):
            holds = tirx.if_then_else(condition, holds, tirx.const(True))
        site = Site(kind, str(subject)[:100], size)
        self.checks.append(Check(self._substituted(holds), self._substituted(value), site))

    def _substituted(self, expression: Expression) -> Expression:
        """Return an expression without the variables that expressions bind."""
        if not self._bound:
            return expression
        return tvm_ffi.structural_map(expression, (tirx.Var, self._value_of))

    def _value_of(self, variable: Any) -> Expression:
        return self._bound.get(hash(variable), variable)


def _joined(one: Interval | None, other: Interval | None) -> Interval | None:
    return None if one is None or other is None else one.joined(other)


def _wide(expression: Expression) -> Expression:
    return expression if str(expression.ty.dtype) == "int64" else tirx.Cast("int64", expression)


def _within(expression: Expression, values: Interval) -> Expression:
    low, high = (tirx.const(each, "int64") for each in values)
    return tirx.And(expression >= low, expression <= high)


def _range_or_none(expression: Expression) -> Interval | None:
    """Return which values an expression's type has, None where it is no integer."""
    kind = str(getattr(expression.ty, "dtype", ""))
    if kind.startswith("bool"):
        return BIT
    if not kind.startswith(("int", "uint")):
        return None
    return of_integers(int(expression.ty.dtype.bits), signed=kind.startswith("int"))


def _range_of(expression: Expression) -> Interval:
    values = _range_or_none(expression)
    if values is None:
        raise Unguarded("a number that is no integer")
    return values


def _range_bits(expression: Expression) -> int:
    return int(expression.ty.dtype.bits)


def _lanes(expression: Expression) -> int:
    return int(expression.ty.dtype.lanes)


# --- vectors -------------------------------------------------------------------------------------


def _ends(index: Expression) -> list[Expression]:
    """Return indices, as integers of 64 bits, which lie in a buffer if all of a vector's do."""
    if type(index).__name__ == "Ramp":
        last = _wide(index.base) + _wide(index.stride) * (_lanes(index) - 1)
        return [_wide(index.base), last]
    return [_wide(each) for (each,) in _each_lane(index)]


def _each_lane(*expressions: Expression) -> Iterator[tuple[Expression, ...]]:
    """Return the items of vectors of one length, side by side; a number is its only item."""
    lanes = _lanes(expressions[0])
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
    if kind in OPERATIONS or kind in _COMPARISONS:
        return type(vector)(_item(vector.a, lane), _item(vector.b, lane))
    if kind == "Cast":
        scalar = str(vector.ty.dtype).rsplit("x", 1)[0]
        return tirx.Cast(scalar, _item(vector.value, lane))
    if kind == "TensorLoad" and len(vector.indices) == 1 and _lanes(vector.indices[0]) > 1:
        return vector.source[_item(vector.indices[0], lane)]
    raise Unguarded(f"a vector made by {kind}")
