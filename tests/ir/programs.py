"""Random programs of loops, conditions and indices, as hypothesis draws them."""

from __future__ import annotations

from typing import Any

import tvm
from hypothesis import strategies as st
from tvm import ir, s_tir, tirx

Draw = Any

_SUMS = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Min, tirx.Max)
_DIVISIONS = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)
_BITS = (tirx.BitwiseAnd, tirx.BitwiseOr, tirx.LShift, tirx.RShift)
_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)


class _Program:
    """Draws one function over one kind of integer; `values` are what is in scope."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.dtype = draw(st.sampled_from(["int32", "int32", "int32", "int64", "int8", "uint8"]))
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
        return self.number(self.draw(st.one_of(small, small, small, large)))

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
        kind, condition = self.draw(st.integers(0, 3)), self.condition(depth - 1)
        if kind == 0:
            return tirx.Cast(self.dtype, condition)
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
def programs(draw: Draw) -> Any:
    """Draw a module of one function `f`, which writes B by indices of its own making."""
    program = _Program(draw)
    body = program.loop(3)
    function = tirx.PrimFunc([program.A, program.B], body)
    return tvm.IRModule({"f": function.with_attr({"global_symbol": "f", "s_tir": True})})
