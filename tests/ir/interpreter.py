"""Runs the integers of a PrimFunc, read off its graph: every access, exactly as it is written.

It knows nothing of bounds: it goes through all rounds of all loops and raises WildError at the
first index outside of its buffer, number outside of its type, or division by zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.ir.expressions import type_of
from grader.ir.graph import Graph


class WildError(Exception):
    """Raised where a function does what it must not."""


class TooLongError(Exception):
    """Raised where a function runs longer than a test should."""


def _truncate(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "prim.Add": lambda a, b: a + b,
    "prim.And": lambda a, b: int(bool(a) and bool(b)),
    "prim.BitwiseAnd": lambda a, b: a & b,
    "prim.BitwiseOr": lambda a, b: a | b,
    "prim.BitwiseXor": lambda a, b: a ^ b,
    "prim.Div": _truncate,
    "prim.EQ": lambda a, b: int(a == b),
    "prim.FloorDiv": lambda a, b: a // b,
    "prim.FloorMod": lambda a, b: a % b,
    "prim.GE": lambda a, b: int(a >= b),
    "prim.GT": lambda a, b: int(a > b),
    "prim.LE": lambda a, b: int(a <= b),
    "prim.LShift": lambda a, b: a << b,
    "prim.LT": lambda a, b: int(a < b),
    "prim.Max": max,
    "prim.Min": min,
    "prim.Mod": lambda a, b: a - b * _truncate(a, b),
    "prim.Mul": lambda a, b: a * b,
    "prim.NE": lambda a, b: int(a != b),
    "prim.Or": lambda a, b: int(bool(a) or bool(b)),
    "prim.RShift": lambda a, b: a >> b,
    "prim.Sub": lambda a, b: a - b,
}
DIVISIONS = ("prim.Div", "prim.FloorDiv", "prim.FloorMod", "prim.Mod")


class Interpreter:
    """Runs one function. `content` gives what a load finds."""

    def __init__(self, graph: Graph, content: Callable[[], int], steps: int = 200_000) -> None:
        self.graph = graph
        self.content = content
        self.left = steps
        self.values: dict[int, int] = {}
        self.parts: dict[int, tuple[int, list[int]]] = {}

    def run(self, function: int) -> None:
        """Run the function. Raises WildError or TooLongError."""
        self.statement(self.graph.field(function, "body"))

    def statement(self, index: int) -> None:  # noqa: C901 - one line for each kind
        graph, kind = self.graph, self.graph.type_of(index)
        self.left -= 1
        if self.left < 0:
            raise TooLongError
        if kind == "tirx.For":
            low = self.value(graph.field(index, "min"))
            for place in range(self.value(graph.field(index, "extent"))):
                self.values[graph.field(index, "loop_var")] = low + place
                self.statement(graph.field(index, "body"))
        elif kind == "tirx.SeqStmt":
            for each in graph.list(index, "seq"):
                self.statement(each)
        elif kind == "tirx.IfThenElse":
            if self.value(graph.field(index, "condition")):
                self.statement(graph.field(index, "then_case"))
            elif (otherwise := graph.optional(index, "else_case")) is not None:
                self.statement(otherwise)
        elif kind == "tirx.Bind":
            self.values[graph.field(index, "var")] = self.value(graph.field(index, "value"))
        elif kind == "tirx.BufferStore":
            self.look(graph.field(index, "value"))
            self.access(graph.field(index, "buffer"), graph.list(index, "indices"))
        elif kind == "s_tir.SBlockRealize":
            self.block(index)
        elif kind == "tirx.AttrStmt":
            self.statement(graph.field(index, "body"))
        elif kind == "tirx.Evaluate":
            self.look(graph.field(index, "value"))
        else:
            assert kind == "tirx.AllocBuffer", kind

    def block(self, index: int) -> None:
        graph, block = self.graph, self.graph.field(index, "block")
        if not self.value(graph.field(index, "predicate")):
            return
        values = [self.value(each) for each in graph.list(index, "iter_values")]
        first = True
        for iterator, value in zip(graph.list(block, "iter_vars"), values, strict=True):
            domain = graph.field(iterator, "dom")
            low, extent = (self.value(graph.field(domain, each)) for each in ("min", "extent"))
            if not low <= value < low + extent:
                raise WildError("iterator")
            first = first and (value == low or graph.field(iterator, "iter_type") != 2)
            self.values[graph.field(iterator, "var")] = value
        for match in graph.list(block, "match_buffers"):
            source = graph.field(match, "source")
            starts = [self.value(graph.field(each, "min")) for each in graph.list(source, "region")]
            self.parts[graph.field(match, "buffer")] = (graph.field(source, "source"), starts)
        if first and graph.optional(block, "init") is not None:
            self.statement(graph.field(block, "init"))
        self.statement(graph.field(block, "body"))

    def access(self, buffer: int, indices: list[int]) -> None:
        self.place(buffer, [self.value(each) for each in indices])

    def place(self, buffer: int, places: list[int]) -> None:
        graph = self.graph
        if buffer in self.parts:
            source, starts = self.parts[buffer]
            offset = len(starts) - len(places)
            inner = [start + place for start, place in zip(starts[offset:], places, strict=True)]
            self.place(source, [*starts[:offset], *inner])
            return
        shape = [self.value(each) for each in graph.list(graph.field(buffer, "ty"), "shape")]
        for place, extent in zip(places, shape, strict=True):
            if not 0 <= place < extent:
                raise WildError(f"{graph.name(buffer)}[{places}] of {shape}")

    def look(self, index: int) -> None:
        """Look at the loads of a value: floats are not computed."""
        graph, kind = self.graph, self.graph.type_of(index)
        if kind == "ir.TensorLoad":
            self.access(graph.field(index, "source"), graph.list(index, "indices"))
        elif kind == "ir.Call" and graph.text(graph.field(index, "op")) == "prim.if_then_else":
            condition, yes, no = graph.list(index, "args")
            self.look(yes if self.value(condition) else no)
        else:
            for child in graph.children[index]:
                if graph.is_scalar_or_array(child):
                    self.look(child)

    def value(self, index: int) -> int:
        """Return the value of an integer expression. Raises WildError."""
        self.left -= 1
        if self.left < 0:
            raise TooLongError
        value = self.compute(index)
        numbers = type_of(self.graph, index).numbers
        assert numbers is not None
        if not numbers.low <= value <= numbers.high:
            raise WildError(f"{value} of {type_of(self.graph, index).scalar}")
        return value

    def compute(self, index: int) -> int:
        graph, kind = self.graph, self.graph.type_of(index)
        if kind == "ir.IntImm":
            number: int = graph.values[graph.field(index, "value")]
            return number
        if kind == "ir.Var":
            return self.values[index]
        if kind in BINARY:
            left, right = (self.value(graph.field(index, name)) for name in "ab")
            if kind in DIVISIONS and not right:
                raise WildError("division by zero")
            if "Shift" in kind and not 0 <= right < type_of(graph, index).bits:
                raise WildError("shift")
            return BINARY[kind](left, right)
        return self.other(index, kind)

    def other(self, index: int, kind: str) -> int:
        graph = self.graph
        if kind == "prim.Not":
            return int(not self.value(graph.field(index, "a")))
        if kind == "prim.Cast":
            value = self.value(graph.field(index, "value"))
            return int(bool(value)) if type_of(graph, index).kind == "bool" else value
        if kind == "prim.Select":
            names = ("condition", "true_value", "false_value")
            condition, yes, no = (self.value(graph.field(index, name)) for name in names)
            return yes if condition else no
        if kind == "prim.Let":
            self.values[graph.field(index, "var")] = self.value(graph.field(index, "value"))
            return self.value(graph.field(index, "body"))
        if kind == "ir.TensorLoad":
            self.look(index)
            return self.content()
        return self.call(index)

    def call(self, index: int) -> int:
        graph: Any = self.graph
        name, arguments = graph.text(graph.field(index, "op")), graph.list(index, "args")
        if name == "prim.likely":
            return self.value(arguments[0])
        assert name == "prim.if_then_else", name
        return self.value(arguments[1] if self.value(arguments[0]) else arguments[2])
