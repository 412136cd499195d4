"""Decisions that a PrimFunc makes by the contents of a buffer: what its work depends on.

A function without any does the same work at each call, whatever its inputs and whatever is left in
memory from the call before. One with them may count its calls, or recognise an input, and leave the
work out. An honest program may have them (a lookup table, an embedding), so they are facts here; it
is for whoever times a function to refuse it.

A value has content when it holds a load, or a variable bound to such a value. Storing one is what
programs are for; deciding by one is what is found. `Select` decides too: TVM makes a branch of it
when an operand loads something, and LLVM may when none does. Left alone is a choice between a
value and a literal by that very value, as a rectifier is written: its condition has computed all.

LLVM makes choices of arithmetic, too. `Cast("int32", x[0] > t) * bits`, with the bits of a sum, is
one between the sum and 0 to it; as `x[0] > t` is the same in all rounds, it made the loops twice,
and of those for 0 nothing was left (84 and 0.3 microseconds). A function that keeps its outputs in
memory that it finds again, as its workspace is, could so look an answer up. There are few such
rules for floating-point numbers, and none where they are neither nan nor infinite. So what is
loaded must stay one, and whatever takes part in those rules is found as well.

Of integers, such rules begin with numbers that are one of two: `x & 1`, `x >> 31`, a minimum of a
maximum. LLVM makes a choice of what such a number is multiplied with. So integers that are loaded
may be made longer as they are, added and subtracted where they have 32 bits or more; multiplied if
they are the function's inputs, or copies; and one maximum or minimum may be taken. A product that
has room in fewer bits, as that of two int8 in int16, may be made longer, too. A sum of products
needs no more. Everything else that is done with them is found.
"""

import math
from collections.abc import Iterator

from grader.ir.expressions import ARITHMETIC, Budget, type_of
from grader.ir.facts import Finding
from grader.ir.graph import Graph
from grader.ir.vocabulary import load_schema, shown
from grader.language import Text, say

RUNS = say("in-function-contents-buffer-decide-which-statements")
"""The message about a statement under a condition, such as an `if`."""

_LOOPS = say("in-function-contents-buffer-decide-how-often")
_ACCESS = say("in-function-contents-buffer-decide-which-element")
_CHOICE = say("in-function-contents-buffer-decide-which-two")
_MIXED = say("in-function-integers-buffer-may-decide")

_DECIDING: dict[str, tuple[tuple[str, ...], Text]] = {
    "ir.Range": (("min", "extent"), _ACCESS),
    "ir.TensorLoad": (("indices",), _ACCESS),
    "prim.And": (("a", "b"), _CHOICE),
    "prim.Or": (("a", "b"), _CHOICE),
    "prim.Select": (("condition",), _CHOICE),
    "prim.Shuffle": (("indices",), _CHOICE),
    "s_tir.SBlockRealize": (("predicate", "iter_values"), RUNS),
    "tirx.AssertStmt": (("condition",), RUNS),
    "tirx.AttrStmt": (("node", "value"), RUNS),
    "tirx.BufferStore": (("indices",), _ACCESS),
    "tirx.BufferType": (("shape", "strides", "elem_offset", "layout"), _ACCESS),
    "tirx.For": (("min", "extent", "step"), _LOOPS),
    "tirx.IfThenElse": (("condition",), RUNS),
    "tirx.While": (("condition",), _LOOPS),
}
"""By type of node: the fields that decide, and what they decide."""

_DECIDING_CALLS = {
    "prim.if_then_else": (0, _CHOICE),
    "tirx.assume": (0, RUNS),
    "tirx.ldexp": (1, _CHOICE),
    "tirx.pow": (1, _CHOICE),  # pow(x, 0) is 1, whatever x is
    "tirx.reinterpret": (0, _CHOICE),
}
"""Intrinsics, which of their arguments decides, and what."""

_COMPARISONS = frozenset({"prim.GE", "prim.GT", "prim.LE", "prim.LT"})
_LITERALS = frozenset({"ir.FloatImm", "ir.IntImm"})
_FLOATS = frozenset({"bfloat", "float"})
_INTEGERS = frozenset({"int", "uint"})
_EXACT = frozenset({"prim.Add", "prim.Mul", "prim.Sub"})
_BOUNDS = frozenset({"prim.Max", "prim.Min"})
_SHORTEST, _LONG = 8, 32
"""Bits of the shortest integers that may be made longer, and of those that may be computed with."""
_IN_PLACE = frozenset({"bool", "dtype", "float", "int"})
"""Kinds of fields that are written in place; the others refer to nodes."""


def find_decisions(graph: Graph, name: str, function: int, budget: Budget) -> tuple[Finding, ...]:
    """Return a finding for each buffer by whose contents a PrimFunc decides something."""
    return tuple(_Function(graph, name, budget).read(function))


class _Function:
    def __init__(self, graph: Graph, name: str, budget: Budget) -> None:
        self.graph = graph
        self.name = name
        self.budget = budget
        self.bound: dict[int, list[int]] = {}
        self.content: set[int] = set()
        self.plain: set[int] = set()
        self.wholes: dict[int, int] = {}

    def read(self, function: int) -> Iterator[Finding]:
        """Return the findings of one PrimFunc: statements first, as they are easier to see."""
        nodes = self.nodes(function)
        self.bound = self.bindings(nodes)
        self.content = self.with_content(nodes)
        self.wholes = {
            self.graph.field(each, "buffer"): self.graph.field(
                self.graph.field(each, "source"), "source"
            )
            for each in nodes
            if self.graph.type_of(each) == "s_tir.MatchBufferRegion"
        }
        self.plain = self.plain_buffers(function, nodes)
        found: set[int] = set()
        # A student finds an `if` in the function more easily than a part of its condition.
        for index in sorted(nodes, key=self.is_expression):
            for value, what in self.deciding(index):
                if value not in self.content:
                    continue
                buffer = self.buffer_in(value)
                if buffer not in found:
                    found.add(buffer)
                    yield self.finding(buffer, what)

    def is_expression(self, index: int) -> bool:
        """Say whether a node is part of an expression and no statement."""
        return not self.graph.type_of(index).startswith(("s_tir.", "tirx."))

    def nodes(self, function: int) -> list[int]:
        """Return all nodes of the function, each after those it refers to."""
        return sorted(self.budget.walk((function,), self.graph.children.__getitem__))

    def bindings(self, nodes: list[int]) -> dict[int, list[int]]:
        graph, bound = self.graph, dict[int, list[int]]()
        for index in nodes:
            if graph.type_of(index) in ("prim.Let", "tirx.Bind"):
                variable, value = graph.field(index, "var"), graph.field(index, "value")
                bound.setdefault(variable, []).append(value)
        return bound

    def with_content(self, nodes: list[int]) -> set[int]:
        """Return the nodes that hold a load, directly or by a variable.

        A variable comes before the value that it is bound to, so all are gone through until nothing
        changes; in an honest program that is as often as bindings are nested.
        """
        content: set[int] = set()
        before = -1
        while len(content) > before:
            before = len(content)
            for index in nodes:
                self.budget.spend()
                if index not in content and self.has_content(index, content):
                    content.add(index)
        return content

    def has_content(self, index: int, content: set[int]) -> bool:
        """Say whether a node has content, given what is known of the nodes before it."""
        kind = self.graph.type_of(index)
        if kind == "ir.Var":
            return not content.isdisjoint(self.bound.get(index, ()))
        return kind == "ir.TensorLoad" or not content.isdisjoint(self.graph.children[index])

    # --- decisions --------------------------------------------------------------------------------

    def deciding(self, index: int) -> Iterator[tuple[int, Text]]:
        """Return the parts of a node that decide something, and what."""
        graph = self.graph
        kind = graph.type_of(index)
        if kind == "ir.Call":
            yield from self.deciding_argument(index)
        # `Cast("int32", x[0] > t) * bits` is a choice between bits and 0 to LLVM, and the loops of
        # what is 0 are left out (cheat left_out_by_a_product). From float to float nothing is
        # decided.
        elif kind == "prim.Cast":
            value = graph.field(index, "value")
            floats = {type_of(graph, each).kind for each in (index, value)} <= _FLOATS
            if not floats and not self.is_widening(index, value):
                yield value, _CHOICE if type_of(graph, value).kind not in _INTEGERS else _MIXED
        elif kind in ARITHMETIC and type_of(graph, index).kind in _INTEGERS:
            yield from ((each, _MIXED) for each in self.risky_operands(index, kind))
        elif kind in _DECIDING and not (kind == "prim.Select" and self.is_rectifier(index)):
            fields, what = _DECIDING[kind]
            for name in fields:
                yield graph.field(index, name), what

    def is_widening(self, index: int, value: int) -> bool:
        """Say whether a cast makes a loaded integer, or a product of two, a longer one."""
        before, after = type_of(self.graph, value), type_of(self.graph, index)
        is_loaded = self.graph.type_of(value) == "ir.TensorLoad" and before.bits >= _SHORTEST
        if not (is_loaded or self.is_whole_product(value)):
            return False
        return {before.kind, after.kind} <= _INTEGERS and before.bits < after.bits

    def is_whole_product(self, value: int) -> bool:
        """Say whether a value is a product of two inputs that has room for all of its bits."""
        graph = self.graph
        if graph.type_of(value) != "prim.Mul":
            return False
        factors = [graph.field(value, name) for name in "ab"]
        if any(graph.type_of(each) != "prim.Cast" or not self.is_plain(each) for each in factors):
            return False
        bits = [type_of(graph, graph.field(each, "value")).bits for each in factors]
        return sum(bits) <= type_of(graph, value).bits

    def risky_operands(self, index: int, kind: str) -> list[int]:
        """Return the operands of integer arithmetic that may become a choice."""
        graph = self.graph
        operands = [graph.field(index, name) for name in "ab"]
        if kind in _BOUNDS:
            return [each for each in operands if self.holds_bound(each)]
        if kind not in _EXACT or type_of(graph, index).bits < _LONG:
            return [] if self.is_whole_product(index) else operands
        if kind != "prim.Mul":
            return []
        return [each for each in operands if each in self.content and not self.is_plain(each)]

    def holds_bound(self, value: int) -> bool:
        """Say whether a minimum or a maximum is a part of an expression."""
        seen, pending = {value}, [value]
        while pending:
            self.budget.spend()
            index = pending.pop()
            if self.graph.type_of(index) in _BOUNDS:
                return True
            following = (*self.bound.get(index, ()), *self.graph.children[index])
            new = [each for each in following if each in self.content and each not in seen]
            seen.update(new)
            pending.extend(new)
        return False

    def is_plain(self, value: int) -> bool:
        """Say whether a value is an item of an input or of a copy of one, perhaps made longer."""
        graph = self.graph
        kind = graph.type_of(value)
        if kind == "prim.Broadcast":
            return self.is_plain(graph.field(value, "value"))
        if kind == "prim.Cast":
            inner = graph.field(value, "value")
            return self.is_widening(value, inner) and self.is_plain(inner)
        return kind == "ir.TensorLoad" and self.whole(graph.field(value, "source")) in self.plain

    def whole(self, buffer: int) -> int:
        """Return the buffer that a buffer is a part of, often itself."""
        seen = set[int]()
        while buffer in self.wholes and buffer not in seen:
            seen.add(buffer)
            buffer = self.wholes[buffer]
        return buffer

    def plain_buffers(self, function: int, nodes: list[int]) -> set[int]:
        """Return the parameters that are never written, and buffers that only copies are put in."""
        graph, stores = self.graph, dict[int, list[int]]()
        for index in nodes:
            if graph.type_of(index) == "tirx.BufferStore":
                # What is stored under another name of a part of an input is stored in the input.
                buffer = self.whole(graph.field(index, "buffer"))
                stores.setdefault(buffer, []).append(graph.field(index, "value"))
        self.plain = set(graph.list(function, "params")) - stores.keys()
        before = -1
        while len(self.plain) > before:
            before = len(self.plain)
            for buffer, values in stores.items():
                self.budget.spend(len(values))
                if all(self.is_plain(each) for each in values):
                    self.plain.add(buffer)
        return self.plain

    def deciding_argument(self, index: int) -> Iterator[tuple[int, Text]]:
        """Return the argument of a call that decides, if there is one."""
        graph = self.graph
        operator, arguments = graph.field(index, "op"), graph.list(index, "args")
        name = graph.text(operator) if graph.type_of(operator) == "ir.Op" else ""
        place, what = _DECIDING_CALLS.get(name, (len(arguments), _CHOICE))
        # A ReLU is written as a choice, too: its condition needs the value, so that no work can be
        # left out.
        is_choice = name == "prim.if_then_else" and len(arguments) == 3
        if place < len(arguments) and not (is_choice and self.is_rectifier(index)):
            yield arguments[place], what
        elif type_of(graph, index).kind in _INTEGERS and name != "prim.if_then_else":
            yield from ((each, _CHOICE) for each in arguments)  # q_multiply_shift shifts

    def is_rectifier(self, index: int) -> bool:
        """Say whether a choice is between a value and a literal, by how that value compares.

        Of `Select(x > 0, 1, nan) * sum` LLVM makes `Select(x > 0, sum, nan)`, and leaves out a sum.
        """
        graph = self.graph
        if graph.type_of(index) == "prim.Select":
            operands = [
                graph.field(index, name) for name in ("condition", "true_value", "false_value")
            ]
        else:
            operands = graph.list(index, "args")
        condition, *branches = operands
        if graph.type_of(condition) not in _COMPARISONS:
            return False
        sides = [graph.field(condition, name) for name in "ab"]
        values = [side for side in sides if graph.type_of(side) not in _LITERALS]
        # Of two literals, as in `Select(x > 0, 1, nan)`, LLVM makes a choice of what they are
        # multiplied with, and need not compute that.
        if len(values) != 1 or all(graph.type_of(each) in _LITERALS for each in branches):
            return False
        return all(self.follows(each, values[0]) for each in branches)

    def follows(self, branch: int, value: int) -> bool:
        """Say whether a branch is a finite literal, the value, or their product."""
        graph = self.graph
        if graph.type_of(branch) in _LITERALS:
            # A product with nan is nan, whatever the other factor is: LLVM need not compute that
            # (cheat left_out_by_nan).
            return self.is_finite(branch)
        if self.are_equal(branch, value):
            return True
        if graph.type_of(branch) != "prim.Mul":
            return False
        factors = [graph.field(branch, name) for name in "ab"]
        literals = [each for each in factors if graph.type_of(each) in _LITERALS]
        return (
            len(literals) == 1
            and self.is_finite(literals[0])
            and any(self.are_equal(each, value) for each in factors)
        )

    def is_finite(self, literal: int) -> bool:
        """Say whether a literal is a number that arithmetic has no rule for."""
        return math.isfinite(float(self.graph.field(literal, "value")))

    def are_equal(self, left: int, right: int) -> bool:
        """Say whether two expressions are the same, but for where they were written."""
        seen, pending = {(left, right)}, [(left, right)]
        while pending:
            one, other = pending.pop()
            if one == other:
                continue
            pairs = self.pairs(one, other)
            if pairs is None:
                return False
            new = set(pairs) - seen
            seen |= new
            pending.extend(new)
        return True

    def pairs(self, left: int, right: int) -> list[tuple[int, int]] | None:
        """Return what must be equal for two different nodes to be so; None where they are not."""
        graph = self.graph
        kind, one, other = graph.type_of(left), graph.values[left], graph.values[right]
        if kind != graph.type_of(right) or kind == "ir.Var":
            return None
        self.budget.spend(1 + len(graph.children[left]))
        if kind == "ffi.Array":
            return list(zip(one, other, strict=True)) if len(one) == len(other) else None
        rules = load_schema().nodes.get(kind)
        if rules is None:
            return [] if one == other else None
        names = [name for name in rules if name != "span"]
        if any(rules[name].kind in _IN_PLACE and one[name] != other[name] for name in names):
            return None
        return [(one[name], other[name]) for name in names if rules[name].kind not in _IN_PLACE]

    # --- wording ----------------------------------------------------------------------------------

    def buffer_in(self, value: int) -> int:
        """Return the buffer whose contents a value has: the first that is met."""
        graph, seen, pending = self.graph, {value}, [value]
        while pending:
            self.budget.spend()
            index = pending.pop()
            if graph.type_of(index) == "ir.TensorLoad":
                return graph.field(index, "source")
            is_variable = graph.type_of(index) == "ir.Var"
            following = self.bound.get(index, []) if is_variable else graph.children[index]
            new = [each for each in following if each in self.content and each not in seen]
            seen.update(new)
            pending.extend(reversed(new))
        raise AssertionError("a value has content without a load")

    def finding(self, buffer: int, what: Text) -> Finding:
        subject = self.graph.name(buffer)
        text = say(what, name=shown(self.name), buffer=shown(subject))
        return Finding(code="content", subject=subject, where=self.name, message=text)
