"""Random programs of loops, conditions and indices, as hypothesis draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tvm
from hypothesis import strategies as st
from tvm import ir, s_tir, tirx

Draw = Any

LONG_TYPES = ("int32", "int32", "int32", "int64")
"""Types of integers whose loops can be guarded: LLVM's vectors run some rounds further."""

ALL_TYPES = (*LONG_TYPES, "int8", "uint8")

_SUMS = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Min, tirx.Max)
_DIVISIONS = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)
_BITS = (tirx.BitwiseAnd, tirx.BitwiseOr, tirx.LShift, tirx.RShift)
_NARROW_TYPES = ("int8", "uint8", "int16")
_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)


class _Program:
    """Draws one function over one kind of integer; `values` are what is in scope."""

    def __init__(self, draw: Draw, dtypes: Sequence[str]) -> None:
        self.draw = draw
        self.dtype = draw(st.sampled_from(dtypes))
        self.size = draw(st.integers(1, 40))
        self.A = tirx.decl_buffer((self.size,), self.dtype, "A")
        self.B = tirx.decl_buffer((draw(st.integers(1, 8)), self.size), self.dtype, "B")
        self.values: list[Any] = []
        self.count = 0

    def number(self, value: int) -> Any:
        return tirx.IntImm(self.dtype, value)

    def variable(self, dtype: str = "") -> Any:
        self.count += 1
        return tirx.Var(f"v{self.count}", dtype or self.dtype)

    def constant(self) -> Any:
        small = st.integers(0, 9)
        if self.dtype in ("int8", "uint8"):
            return self.number(self.draw(st.one_of(small, st.integers(0, 100))))
        large = st.sampled_from([64, 2**16, 2**30, 2**31 - 1])
        # TVM divides by negative numbers by rules of its own.
        negative = st.integers(-9, -1)
        return self.number(self.draw(st.one_of(small, small, negative, large)))

    def expression(self, depth: int) -> Any:
        """Return an integer expression."""
        kind = self.draw(st.integers(0, 13 if depth else 1))
        if kind == 0 or (kind <= 3 and not self.values) or not depth:
            leaf = kind == 0 or not self.values
            return self.constant() if leaf else self.draw(st.sampled_from(self.values))
        if kind <= 3:
            return self.draw(st.sampled_from(self.values))
        if kind <= 8:
            return self.binary(_SUMS, depth)
        if kind <= 10:
            operator = self.draw(st.sampled_from(_DIVISIONS))
            divisor = self.constant() if self.draw(st.booleans()) else self.expression(depth - 1)
            return operator(self.expression(depth - 1), divisor)
        if kind == 11:
            return self.binary(_BITS, depth)
        return self.choice(depth)

    def binary(self, operators: Any, depth: int) -> Any:
        operator = self.draw(st.sampled_from(operators))
        return operator(self.expression(depth - 1), self.expression(depth - 1))

    def choice(self, depth: int) -> Any:
        kind, condition = self.draw(st.integers(0, 4)), self.condition(depth - 1)
        if kind == 0:
            return tirx.Cast(self.dtype, condition)
        if kind == 4:
            narrow = self.draw(st.sampled_from(_NARROW_TYPES))
            return tirx.Cast(self.dtype, tirx.Cast(narrow, self.expression(depth - 1)))
        if kind == 1:
            variable, value = self.variable(), self.expression(depth - 1)
            self.values.append(variable)
            body = self.expression(depth - 1)
            self.values.remove(variable)
            return tirx.Let(variable, value, body)
        sides = self.expression(depth - 1), self.expression(depth - 1)
        if kind == 2:
            return tirx.Select(condition, *sides)
        return tvm.tirx.if_then_else(condition, *sides)

    def condition(self, depth: int) -> Any:
        kind = self.draw(st.integers(0, 5 if depth > 0 else 3))
        if kind <= 3:
            operator = self.draw(st.sampled_from(_COMPARISONS))
            return operator(self.expression(max(depth, 0)), self.expression(max(depth, 0)))
        if kind == 4:
            return tirx.Not(self.condition(depth - 1))
        operator = self.draw(st.sampled_from([tirx.And, tirx.Or]))
        return operator(self.condition(depth - 1), self.condition(depth - 1))

    def index(self) -> Any:
        """Return an index, often one that was thought of: clamped, or a remainder."""
        value, kind = self.expression(3), self.draw(st.integers(0, 4))
        if kind == 0:
            return tirx.Min(tirx.Max(value, self.number(0)), self.number(self.size - 1))
        if kind == 1:
            return tirx.FloorMod(value, self.number(self.size))
        return value

    def store(self) -> Any:
        index = self.index()
        value = tvm.tirx.BufferLoad(self.A, [self.index()]) if self.draw(st.booleans()) else index
        first = self.index() if self.draw(st.booleans()) else self.number(0)
        store = tirx.BufferStore(self.B, value, [first, index])
        if self.draw(st.booleans()):
            return store
        inside = tirx.And(tirx.LE(self.number(0), index), tirx.LT(index, self.number(self.size)))
        return tirx.IfThenElse(inside, store, None)

    def statement(self, depth: int) -> Any:
        has_blocks = not self.dtype.startswith("u")  # TVM wants iterators of signed integers
        kind = self.draw(st.integers(0, 5 + has_blocks if depth else 0))
        if kind == 0:
            return self.store()
        if kind <= 3:
            return self.loop(depth)
        if kind == 4:
            condition = self.condition(2)
            otherwise = self.statement(depth - 1) if self.draw(st.booleans()) else None
            return tirx.IfThenElse(condition, self.statement(depth - 1), otherwise)
        if kind == 5:
            return tirx.SeqStmt([self.statement(depth - 1), self.statement(depth - 1)])
        return self.block(depth)

    def loop(self, depth: int) -> Any:
        variable = self.variable()
        low = self.number(0) if self.draw(st.booleans()) else self.expression(1)
        extent = self.expression(2) if self.draw(st.integers(0, 4)) == 0 else None
        if extent is None:
            extent = self.number(self.draw(st.integers(1, 6)))
        self.values.append(variable)
        body = self.statement(depth - 1)
        self.values.remove(variable)
        return tirx.For(variable, low, extent, tirx.ForKind.SERIAL, body)

    def block(self, depth: int) -> Any:
        """Return a block of one or two iterators, perhaps with a part of the output in it."""
        values = [self.expression(2) for _ in range(self.draw(st.integers(1, 2)))]
        predicate = self.condition(1) if self.draw(st.booleans()) else tirx.IntImm("bool", 1)
        iterators = []
        for _ in values:
            extent = self.number(self.draw(st.integers(1, 40)))
            domain = ir.Range.from_min_extent(self.number(0), extent)
            iterators.append(tirx.IterVar(domain, self.variable(), 0))
        outside = self.values
        self.values = [*outside, *(each.var for each in iterators)]
        matches = [self.match()] if self.draw(st.integers(0, 2)) == 0 else []
        body = self.statement(depth - 1)
        if matches:
            indices = [self.expression(2)]
            body = tirx.SeqStmt([body, tirx.BufferStore(matches[0].buffer, indices[0], indices)])
        self.values = outside
        block = s_tir.SBlock(iterators, [], [], "b", body, match_buffers=matches)
        return s_tir.SBlockRealize(values, predicate, block)

    def match(self) -> Any:
        low, extent = self.expression(2), self.draw(st.integers(1, 8))
        part = tirx.decl_buffer((extent,), self.dtype, "part", offset_factor=1, layout=None)
        ranges = [
            ir.Range.from_min_extent(self.number(0), self.number(1)),
            ir.Range.from_min_extent(low, self.number(extent)),
        ]
        return s_tir.MatchBufferRegion(part, tirx.BufferRegion(self.B, ranges))


@st.composite
def programs(draw: Draw, dtypes: Sequence[str] = ALL_TYPES) -> Any:
    """Draw a module of one function `f`, which writes B by indices of its own making."""
    program = _Program(draw, dtypes)
    body = program.loop(3)
    function = tirx.PrimFunc([program.A, program.B], body)
    return tvm.IRModule({"f": function.with_attr({"global_symbol": "f", "s_tir": True})})


# --- divisions ------------------------------------------------------------------------------------
# A loop whose block's iterator is one expression of the loop's variable, and whose index is another
# of that iterator: TVM puts one into the other and simplifies. The buffer has just the items that
# the index names, as it is written, so that a rule that is wrong leads out of it.


def _truncated_divide(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class _Division(NamedTuple):
    """A division of TVM's, and what it gives of two integers."""

    expression: Callable[[Any, Any], Any]
    value: Callable[[int, int], int]


_DIVISIONS_OF_NUMBERS = (
    _Division(tirx.FloorDiv, lambda a, b: a // b),
    _Division(tirx.FloorMod, lambda a, b: a % b),
    _Division(tirx.Div, _truncated_divide),
    _Division(tirx.Mod, lambda a, b: a - b * _truncated_divide(a, b)),
)
ROUNDS = 12
OPAQUE = 4
"""The kind of an iterator that is neither spatial nor one of a sum."""


class _Value(NamedTuple):
    """An expression, and what it is in each round."""

    expression: Any
    rounds: tuple[int, ...]

    def scaled(self, factor: int, offset: int = 0) -> _Value:
        """Return a multiple, and a constant added to it."""
        rounds = tuple(each * factor + offset for each in self.rounds)
        return _Value(self.expression * factor + offset, rounds)

    def plus(self, other: _Value) -> _Value:
        """Return a sum."""
        rounds = tuple(a + b for a, b in zip(self.rounds, other.rounds, strict=True))
        return _Value(self.expression + other.expression, rounds)


class _Divisions:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def divided(self, value: _Value, signs: Sequence[int] = (1, -1)) -> _Value:
        """Return a value divided by a number, or what is left over."""
        operation = self.draw(st.sampled_from(_DIVISIONS_OF_NUMBERS))
        divisor = self.draw(st.sampled_from(signs)) * self.draw(st.sampled_from([2, 3, 4, 6, 8]))
        rounds = tuple(operation.value(each, divisor) for each in value.rounds)
        number = tirx.IntImm("int32", divisor)
        return _Value(operation.expression(value.expression, number), rounds)

    def positive(self, value: _Value) -> _Value:
        """Return a value with a constant added, so that none is negative and the least is small."""
        return value.scaled(1, self.draw(st.integers(0, 4)) - min(value.rounds))

    def room(self, value: _Value) -> int:
        """Return an extent for a value: what it takes, or a little more."""
        return max(value.rounds) + 1 + self.draw(st.sampled_from([0, 0, 1, 4, 31]))

    def weighed(self, value: _Value) -> _Value:
        """Return a multiple of a value."""
        return value.scaled(self.draw(st.sampled_from([1, 2, 7, 8, -1, -7, -31])))

    def draw_module(self) -> Any:
        """Return a module of a function that copies some items, and takes one of them a round."""
        loop, iterator = tirx.Var("j", "int32"), tirx.Var("vm", "int32")
        rounds = _Value(loop, tuple(range(ROUNDS)))
        offset = self.draw(st.sampled_from([0, 0, -3, 5]))
        inner = self.positive(self.divided(rounds.scaled(self.draw(st.integers(1, 3)), offset)))
        value = _Value(iterator, inner.rounds)
        outer = self.weighed(value).plus(self.weighed(self.divided(value, (1, 1, 1, -1))))
        outer = self.positive(outer)
        size = self.room(outer)
        source, target = (
            tirx.decl_buffer((extent,), "int32", name)
            for extent, name in ((size, "A"), (ROUNDS, "B"))
        )
        local = tirx.decl_buffer((size,), "int32", "local")
        place = tirx.Var("k", "int32")
        copied = tirx.BufferStore(local, tvm.tirx.BufferLoad(source, [place]), [place])
        taken = tirx.BufferStore(target, tvm.tirx.BufferLoad(local, [outer.expression]), [loop])
        domain = ir.Range.from_min_extent(0, self.room(inner))
        block = s_tir.SBlock([tirx.IterVar(domain, iterator, OPAQUE)], [], [], "b", taken)
        always = tirx.IntImm("bool", 1)
        realized = s_tir.SBlockRealize([inner.expression], always, block)
        body = tirx.SeqStmt([_loop(place, size, copied), _loop(loop, ROUNDS, realized)])
        root = s_tir.SBlock([], [], [], "root", body, alloc_buffers=[local])
        function = tirx.PrimFunc([source, target], s_tir.SBlockRealize([], always, root))
        function = function.with_attr({"global_symbol": "f", "s_tir": True})
        return tvm.IRModule({"f": function})


def _loop(variable: Any, extent: int, body: Any) -> Any:
    zero, count = (tirx.IntImm("int32", each) for each in (0, extent))
    return tirx.For(variable, zero, count, tirx.ForKind.SERIAL, body)


@st.composite
def divisions(draw: Draw) -> Any:
    """Draw a function that divides its way to an index, and stays in its buffers as written."""
    return _Divisions(draw).draw_module()
