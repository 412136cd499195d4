"""What must hold before an expression of lowered TIR is evaluated, and before an access is made.

A reader goes through an expression in the order in which it is evaluated, and writes down a check
for everything that intervals do not show to be right. A check is evaluated where all earlier ones
hold: so the one of `a[b[i]]` may read `b[i]`. What only one branch of an `if_then_else` evaluates
is checked only where that branch is taken. Both operands of And and Or are evaluated, and both
values of a Select: that is what TVM's code generator does.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tvm import tirx
from tvm.target.codegen import llvm_lookup_intrinsic_id

from grader.inside.common.checks import (
    BIT,
    COMPARISONS,
    DIVISIONS,
    OPERATIONS,
    Demands,
    Expression,
    Interval,
    Unguarded,
    add,
    bits_of,
    each_lane,
    ends_of,
    lanes_of,
    multiply,
    of_integers,
    wide,
    within,
)

LARGE = 2**62
"""Integers of 64 bits may be so large: their results are looked at as floating-point numbers."""

LOOP_MARGIN = 4096
"""How far the end of a loop must stay away from the largest integer: it is divided up among
threads, which rounds it up."""

SizeOf = Callable[[Any], tuple[str, Any]]

_HANDED_ON = frozenset({"prim.likely"})
_COUNTED = llvm_lookup_intrinsic_id("llvm.ctpop")
_CERTAIN = frozenset({"tirx.isnan", "tirx.reinterpret"})
"""Intrinsics whose integers are none that LLVM may take for anything. The zeros before the first
bit of 0, or a product within `fma`, may be poison: no check of such an index holds, as the check is
poison too."""
_ADDRESSES = frozenset({"tirx.buffer_data", "tirx.address_of", "tirx.tvm_access_ptr"})
_BITS = frozenset({"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
_SHIFTS = frozenset({"LShift", "RShift"})


class Reader:
    """Reads the expressions of one function; `size_of` knows its buffers.

    `demands` holds the checks of the statement that was begun last. `for_all_inputs` refuses
    those that depend on what is in a buffer. `decides` says whether what is stored may come to
    decide anything: if not, an integer that is stored may overflow.
    """

    def __init__(
        self, size_of: SizeOf, *, for_all_inputs: bool = False, decides: bool = True
    ) -> None:
        self.demands = Demands(for_all_inputs=for_all_inputs)
        self._decides = decides
        self._is_stored = False
        self._size_of = size_of
        self._variables: dict[int, Interval | None] = {}
        self._known: list[dict[int, Interval | None]] = []
        self._readers: dict[str, Callable[[Any], Interval | None]] = {
            "BitwiseNot": self._negated,
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
            **dict.fromkeys(COMPARISONS, self._comparison),
            **dict.fromkeys(_BITS, self._bits),
            **dict.fromkeys(_SHIFTS, self._shift),
        }

    def begin(self) -> None:
        """Begin with a statement."""
        self.demands.checks = []
        self._known = [{}]

    def bind(self, variable: Any, values: Interval | None, *sources: Expression) -> None:
        """Take down which values a variable has, None where it is no certain integer, and from
        what."""
        self._variables[hash(variable)] = values
        self.demands.draw(variable, *sources)

    def bind_loop(self, variable: Any, start: Any, extent: Any, step: Any) -> None:
        """Read a loop's bounds and take down what its variable is."""
        first, count = self._demand(start), self._demand(extent)
        stride = Interval(1, 1) if step is None else self._demand(step)
        if stride.low < 1:
            raise Unguarded(f"the steps of the loop {variable.name}")
        end = add(first, count)
        largest = _range_of(variable).high - stride.high - LOOP_MARGIN
        if end.high > largest:
            total = wide(start) + wide(extent)
            self.demands.add(
                total <= tirx.const(largest, "int64"), total, "overflow", variable.name
            )
            end = Interval(end.low, largest)
        values = Interval(first.low, max(first.low, end.high - 1))
        self.bind(variable, values, start, extent)

    def demand_size(self, buffer: Any, item_bytes: int, limit: int) -> None:
        """Demand that a buffer has at most so many bytes, and no negative extent."""
        size: Any = 1
        for extent in buffer.shape:
            size = size * tirx.Cast("float64", extent)
            if not isinstance(extent, tirx.IntImm) or extent.value < 0:
                nothing = tirx.const(0, "int64")
                self.demands.add(wide(extent) >= nothing, wide(extent), "allocation", buffer.name)
        if all(isinstance(extent, tirx.IntImm) for extent in buffer.shape):
            size = item_bytes
            for extent in buffer.shape:
                size *= int(extent.value)
            if size > limit:
                value = tirx.const(min(size, LARGE), "int64")
                self.demands.add(tirx.const(False), value, "allocation", buffer.name)
            return
        holds = size * tirx.const(float(item_bytes), "float64") <= tirx.const(limit, "float64")
        self.demands.add(holds, wide(buffer.shape[0]), "allocation", buffer.name)

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

    def read_stored(self, expression: Expression) -> None:
        """Write down what must hold for a value that is stored, indices of its loads included."""
        with self._apart(is_stored=not self._decides):
            self.read(expression)

    @contextmanager
    def _apart(self, *, is_stored: bool) -> Iterator[None]:
        """Read as a value or as an index: what was read as the one is not known as the other."""
        before = self._is_stored, self._known
        self._is_stored, self._known = is_stored, [{}]
        try:
            yield
        finally:
            self._is_stored, self._known = before

    def _demand(self, expression: Expression) -> Interval:
        values = self.read(expression)
        if values is None:
            raise Unguarded("a number that is no integer")
        return values

    def _deciding(self, expression: Expression) -> Interval | None:
        """Read what decides something beside a value that is stored, as what is loaded for it."""
        with self._apart(is_stored=False):
            return self.read(expression)

    def _decide(self, expression: Expression) -> Interval | None:
        """Read what decides something: a number that is certain."""
        values = self.read(expression)
        if values is None and _range_or_none(expression) is not None:
            raise Unguarded("an integer that may be anything")
        return values

    def _variable(self, variable: Any) -> Interval | None:
        return self._variables.get(hash(variable), _range_or_none(variable))

    def _comparison(self, expression: Any) -> Interval:
        self._decide(expression.a)
        self._decide(expression.b)
        return BIT

    def _not(self, expression: Any) -> Interval:
        self.read(expression.a)
        return BIT

    def _select(self, expression: Any) -> Interval | None:
        self.read(expression.condition)
        return _joined(self.read(expression.true_value), self.read(expression.false_value))

    def _let(self, expression: Any) -> Interval | None:
        self.bind(expression.var, self._deciding(expression.value), expression.value)
        with self.demands.where(expression.value, expression.var):
            # The same nodes may stand in another Let of this variable, with another value there.
            return self._read_apart(expression.body)

    def _read_apart(self, expression: Expression) -> Interval | None:
        """Read what is not known outside: by a condition, or of a variable's value."""
        self._known.append({})
        try:
            return self.read(expression)
        finally:
            self._known.pop()

    def _ramp(self, expression: Any) -> Interval:
        base, stride = self._demand(expression.base), self._demand(expression.stride)
        lanes = lanes_of(expression)
        values, most = add(base, multiply(stride, Interval(0, lanes - 1))), _range_of(expression)
        if not most.holds(values):
            ends = (expression.base, expression.stride)
            first, by = (tirx.Cast("float64", each) for each in ends)
            self._demand_fits(first + by * tirx.const(lanes - 1, "float64"), most)
        return values.cut(most)

    def _cast(self, expression: Any) -> Interval | None:
        values, most = self.read(expression.value), _range_or_none(expression)
        if most is None:
            return None
        if values is None:
            if _range_or_none(expression.value) is not None:
                return None if bits_of(expression) > 1 else self._decide(expression.value)
            self._demand_number(expression, most)
        elif most.holds(values):
            return values
        return most

    def _demand_number(self, expression: Any, most: Interval) -> None:
        """Demand that a floating-point number fits the integer that it becomes; NaN does not."""
        if not str(expression.value.ty.dtype).startswith(("float", "bfloat")):
            return
        low, high = (tirx.const(float(each), "float64") for each in (most.low, most.high + 1))
        for (number,) in each_lane(expression.value):
            wide = tirx.Cast("float64", number)
            zero = tirx.const(0, "int64")
            self.demands.add(tirx.And(wide >= low, wide < high), zero, "conversion", "")

    def _operation(self, expression: Any) -> Interval | None:
        kind = type(expression).__name__
        left = self.read(expression.a)
        right = self._decide(expression.b) if kind in DIVISIONS else self.read(expression.b)
        if left is None or right is None:
            return None
        if kind in DIVISIONS and right.low <= 0 <= right.high:
            for (divisor,) in each_lane(expression.b):
                self.demands.add(wide(divisor) != 0, tirx.const(0, "int64"), "division", "")
        values, most = OPERATIONS[kind](left, right), _range_of(expression)
        if most.holds(values):
            return values
        if self._is_stored or bits_of(expression) < 32:
            return most  # nothing follows from it, or LLVM is told that it wraps around
        for a, b in each_lane(expression.a, expression.b):
            self._demand_no_overflow(type(expression), a, b, most)
        return values.cut(most)

    def _demand_no_overflow(self, kind: Any, a: Any, b: Any, most: Interval) -> None:
        """Compute once more, as floating-point numbers: that tells whether the result fits."""
        if most.low == 0 and kind.__name__ == "Sub":
            self.demands.add(a >= b, tirx.const(0, "int64"), "overflow", "")
            return
        self._demand_fits(kind(tirx.Cast("float64", a), tirx.Cast("float64", b)), most)

    def _demand_fits(self, result: Any, most: Interval) -> None:
        # An int64 that wraps around is none that a check could be made of: 4 * 2**62 is 0.
        bounds = most.cut(Interval(-LARGE, LARGE))
        low, high = (tirx.const(float(each), "float64") for each in bounds)
        holds = tirx.And(low <= result, result <= high)
        self.demands.add(holds, tirx.const(0, "int64"), "overflow", "")

    def _bits(self, expression: Any) -> Interval:
        left, right = self._demand(expression.a), self._demand(expression.b)
        if type(expression).__name__ == "BitwiseAnd" and min(left.high, right.high) >= 0:
            smallest = [each.high for each in (left, right) if each.low >= 0]
            return Interval(0, min(smallest)) if smallest else _range_of(expression)
        return _range_of(expression)

    def _negated(self, expression: Any) -> Interval:
        self.read(expression.a)
        return _range_of(expression)

    def _shift(self, expression: Any) -> Interval:
        most = Interval(0, bits_of(expression) - 1)
        left, count = self._demand(expression.a), self._demand(expression.b)
        if not most.holds(count):
            for (number,) in each_lane(expression.b):
                self.demands.add(within(wide(number), most), wide(number), "overflow", "")
        # By -1 alone no shift is left, and the check fails.
        if type(expression).__name__ == "RShift" and count.high >= 0:
            ends = [a >> by for a in left for by in count.cut(most)]
            return Interval(min(ends), max(ends))
        return _range_of(expression)

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
            self.demands.add(call.args[0], tirx.const(0, "int64"), "assumption", "")
        counts = name == "tirx.call_llvm_pure_intrin" and int(call.args[0].value) == _COUNTED
        return _range_or_none(call) if counts or name in _CERTAIN else None

    def _if_then_else(self, condition: Any, one: Any, other: Any) -> Interval | None:
        self._deciding(condition)
        with self.demands.where(condition):
            values = self._read_apart(one)
        with self.demands.where(tirx.Not(condition)):
            return _joined(values, self._read_apart(other))

    # --- accesses ---------------------------------------------------------------------------------

    def _load(self, load: Any) -> Interval | None:
        with self._apart(is_stored=False):
            self.access(load.source, load.indices)
        return _range_or_none(load)

    def access(self, buffer: Any, indices: Sequence[Expression]) -> None:
        """Read the index of an access, and demand that it lies in its buffer."""
        if len(indices) != 1:
            raise Unguarded(f"the buffer {buffer.name} of several axes")
        name, size = self._size_of(buffer)
        values = self._demand(indices[0])
        constant = isinstance(size, int)
        if constant and values.low >= 0 and values.high < size:
            return
        limit = tirx.const(size, "int64") if constant else size
        site_size = size if constant else 0
        for index in ends_of(indices[0]):
            holds = tirx.And(index >= tirx.const(0, "int64"), index < limit)
            self.demands.add(holds, index, "index", name, site_size)


def _joined(one: Interval | None, other: Interval | None) -> Interval | None:
    return None if one is None or other is None else one.joined(other)


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
