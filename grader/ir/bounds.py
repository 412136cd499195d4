"""Accesses that must leave their buffer: found by intervals whose two ends are both attained.

An interval that merely contains all values of an index proves nothing, so ranges are kept only
while they are exact. That is so for sums, differences, minima and maxima of expressions that share
no loop variable, and for products and floor divisions by constants: each end is then reached in
some iteration. Anything else is unknown, as is everything under a condition, and what is unknown is
not reported.

Block iterators stand for their binding values, so that two iterators of one loop are known to be
related.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from grader.ir.expressions import Budget, constant
from grader.ir.facts import Finding
from grader.ir.graph import Graph
from grader.ir.vocabulary import shown
from grader.language import Text, join, say

NESTING_LIMIT = 64
"""Deepest index expression that is looked at."""

# A window with padding loads `A[i - 1]` under `1 <= i < 17`: by itself the index leaves A, and
# nothing is wrong.
_CONDITIONAL = frozenset({"prim.And", "prim.Let", "prim.Or", "prim.Select"})
_LAZY_CALLS = frozenset({"prim.if_then_else", "tirx.assume"})
_STATEMENT_VALUES = {
    "tirx.Bind": ("value",),
    "tirx.BufferStore": ("value", "indices"),
    "tirx.Evaluate": ("value",),
}


class _Range(NamedTuple):
    """Integers from `low` to `high`, both attained, as the loop variables run independently."""

    low: int
    high: int
    variables: frozenset[int]


class _Access(NamedTuple):
    buffer: int
    indices: list[int]


class _Outside(NamedTuple):
    """An index that leaves its buffer, counted from 1, and the last one that is inside."""

    axis: int
    most: int
    values: _Range

    def told(self) -> dict[str, int | Text]:
        """Return what is said of it. Of one value nobody says "from 1 to 1"."""
        low, high = self.values.low, self.values.high
        found = say("index-is", low=low) if low == high else say("index-runs", low=low, high=high)
        allowed = say("index-must-stay", most=self.most) if self.most else say("index-must-be-0")
        return {"axis": self.axis, "found": found, "allowed": allowed}


def find_out_of_bounds(
    graph: Graph, functions: dict[str, int], budget: Budget
) -> tuple[Finding, ...]:
    """Return a finding for each buffer that is certainly left, function by function."""
    findings: list[Finding] = []
    for name, function in functions.items():
        findings.extend(_Function(graph, name, budget).read(function))
    return tuple(findings)


class _Function:
    def __init__(self, graph: Graph, name: str, budget: Budget) -> None:
        self.graph = graph
        self.name = name
        self.budget = budget
        self.ranges: dict[int, _Range | None] = {}
        self.buffers: set[int] = set()
        self.found: dict[int, Finding] = {}

    def read(self, function: int) -> list[Finding]:
        graph = self.graph
        self.buffers.update(graph.list(function, "params"))
        pending = [graph.field(function, "body")]
        while pending:
            self.budget.spend()
            index = pending.pop()
            pending.extend(reversed(self.statement(index)))
            for access in self.accesses(index):
                self.check(access)
        return list(self.found.values())

    def statement(self, index: int) -> list[int]:
        """Take down what a statement binds, and return the statements inside that surely run."""
        graph = self.graph
        kind = graph.type_of(index)
        if kind == "tirx.For":
            return self.loop(index)
        if kind == "s_tir.SBlockRealize":
            return self.block(index)
        if kind == "tirx.SeqStmt":
            return graph.list(index, "seq")
        if kind == "tirx.AttrStmt":
            return [graph.field(index, "body")]
        if kind == "tirx.AllocBuffer":
            self.buffers.add(graph.field(index, "buffer"))
        if kind == "tirx.Bind":
            value = self.range_of(graph.field(index, "value"))
            self.bind(graph.field(index, "var"), value)
        return []

    def loop(self, index: int) -> list[int]:
        """Take down a loop's range. A loop of unknown extent may not run at all."""
        graph = self.graph
        low = constant(graph, graph.field(index, "min"))
        extent = constant(graph, graph.field(index, "extent"))
        # What is in a loop that may have no round is not looked at: it may never happen.
        if low is None or extent is None or graph.optional(index, "step") is not None:
            return []
        variable = graph.field(index, "loop_var")
        self.bind(variable, _Range(low, low + extent - 1, frozenset({variable})))
        return [graph.field(index, "body")]

    def block(self, index: int) -> list[int]:
        """Take down what a block's iterators stand for. Its init does not always run."""
        graph = self.graph
        block = graph.field(index, "block")
        # After a split that does not divide, iterators go beyond their extent and a predicate keeps
        # the block from running there.
        if constant(graph, graph.field(index, "predicate")) != 1:
            return []
        values = graph.list(index, "iter_values")
        self.budget.spend(len(values) + len(graph.list(block, "alloc_buffers")))
        for iterator, value in zip(graph.list(block, "iter_vars"), values, strict=True):
            self.bind(graph.field(iterator, "var"), self.range_of(value))
        self.buffers.update(graph.list(block, "alloc_buffers"))
        return [graph.field(block, "body")]

    def bind(self, variable: int, value: _Range | None) -> None:
        """Give a variable its range; one that is bound twice to different ranges has none."""
        # Loops may share a variable: then its range depends on where it is used.
        known = self.ranges.setdefault(variable, value)
        if known != value:
            self.ranges[variable] = None

    # --- accesses ---------------------------------------------------------------------------------

    def accesses(self, statement: int) -> Iterator[_Access]:
        """Return what a statement loads and stores for sure."""
        graph = self.graph
        kind = graph.type_of(statement)
        if kind == "tirx.BufferStore":
            yield _Access(graph.field(statement, "buffer"), graph.list(statement, "indices"))
        pending = [graph.field(statement, name) for name in _STATEMENT_VALUES.get(kind, ())]
        seen = set(pending)
        while pending:
            self.budget.spend()
            index = pending.pop()
            if self.is_conditional(index):
                continue
            if graph.type_of(index) == "ir.TensorLoad":
                yield _Access(graph.field(index, "source"), graph.list(index, "indices"))
            self.budget.spend(len(graph.children[index]))
            for child in graph.children[index]:
                if child not in seen and graph.is_scalar_or_array(child):
                    seen.add(child)
                    pending.append(child)

    def is_conditional(self, index: int) -> bool:
        """Say whether parts of an expression may not be evaluated."""
        graph = self.graph
        kind = graph.type_of(index)
        if kind == "ir.Call":
            operator = graph.field(index, "op")
            return graph.type_of(operator) != "ir.Op" or graph.text(operator) in _LAZY_CALLS
        return kind in _CONDITIONAL

    def check(self, access: _Access) -> None:
        """Compare an access with the extents of its buffer, if the buffer is known."""
        graph, buffer = self.graph, access.buffer
        if buffer not in self.buffers or buffer in self.found:
            return
        shape = graph.list(graph.field(buffer, "ty"), "shape")
        outside: list[_Outside] = []
        for axis, (index, item) in enumerate(zip(access.indices, shape, strict=True), start=1):
            extent, values = constant(graph, item), self.range_of(index)
            if extent is None or values is None or 0 <= values.low <= values.high < extent:
                continue
            outside.append(_Outside(axis, extent - 1, values))
        if outside:
            self.found[buffer] = self.finding(buffer, outside)

    def finding(self, buffer: int, outside: list[_Outside]) -> Finding:
        """Return what is found: whoever is told of one index alone meets the next one then."""
        subject = self.graph.name(buffer)
        first, *others = outside
        text = say(
            "in-function-index-buffer-runs",
            function=shown(self.name),
            buffer=shown(subject),
            **first.told(),
        )
        message = join(text, *(say("so-does-index-runs", **each.told()) for each in others))
        return Finding(code="out_of_bounds", subject=subject, where=self.name, message=message)

    # --- ranges -----------------------------------------------------------------------------------

    def range_of(self, index: int) -> _Range | None:
        """Return the range of an expression, None if it is not known exactly."""
        return self.evaluate(index, {}, 0)

    def evaluate(self, index: int, memo: dict[int, _Range | None], depth: int) -> _Range | None:
        if index not in memo:
            self.budget.spend()
            memo[index] = None if depth > NESTING_LIMIT else self.compute(index, memo, depth)
        return memo[index]

    def compute(self, index: int, memo: dict[int, _Range | None], depth: int) -> _Range | None:
        graph = self.graph
        kind = graph.type_of(index)
        if kind == "ir.Var":
            return self.ranges.get(index)
        value = constant(graph, index)
        if value is not None:
            return _Range(value, value, frozenset())
        combine = _OPERATIONS.get(kind)
        if combine is None:
            return None
        left = self.evaluate(graph.field(index, "a"), memo, depth + 1)
        right = self.evaluate(graph.field(index, "b"), memo, depth + 1)
        # `i - i` is 0, and `i + j - max(i, j)` at most 15: ends of two sides that share a loop are
        # not attained at once.
        if left is None or right is None or left.variables & right.variables:
            return None
        return combine(left, right)


def _add(left: _Range, right: _Range) -> _Range | None:
    return _Range(left.low + right.low, left.high + right.high, left.variables | right.variables)


def _subtract(left: _Range, right: _Range) -> _Range | None:
    return _Range(left.low - right.high, left.high - right.low, left.variables | right.variables)


def _minimum(left: _Range, right: _Range) -> _Range | None:
    low, high = min(left.low, right.low), min(left.high, right.high)
    return _Range(low, high, left.variables | right.variables)


def _maximum(left: _Range, right: _Range) -> _Range | None:
    low, high = max(left.low, right.low), max(left.high, right.high)
    return _Range(low, high, left.variables | right.variables)


def _multiply(left: _Range, right: _Range) -> _Range | None:
    """Return the range of a product of which one factor is a constant."""
    if left.low == left.high and not left.variables:
        left, right = right, left
    if right.low != right.high:
        return None
    ends = sorted((left.low * right.low, left.high * right.low))
    return _Range(ends[0], ends[1], left.variables)


def _floor_divide(left: _Range, right: _Range) -> _Range | None:
    if right.low != right.high or right.low <= 0:
        return None
    return _Range(left.low // right.low, left.high // right.low, left.variables)


def _floor_modulo(left: _Range, right: _Range) -> _Range | None:
    """Return the range of a remainder, known where the dividend stays within one period."""
    quotient = _floor_divide(left, right)
    # `(i + 3) % 16` begins anew in the middle, and `i * 3 % 16` several times: within one period
    # only are its ends the ends of the dividend.
    if quotient is None or quotient.low != quotient.high:
        return None
    return _Range(left.low % right.low, left.high % right.low, left.variables)


_OPERATIONS: dict[str, Callable[[_Range, _Range], _Range | None]] = {
    "prim.Add": _add,
    "prim.FloorDiv": _floor_divide,
    "prim.FloorMod": _floor_modulo,
    "prim.Max": _maximum,
    "prim.Min": _minimum,
    "prim.Mul": _multiply,
    "prim.Sub": _subtract,
}
