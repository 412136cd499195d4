"""Values and conditions: what is computed to be stored, and what is learnt from a choice."""

from collections.abc import Callable
from typing import NamedTuple

from grader.ir.expressions import Budget, type_of
from grader.ir.facts import Reasons
from grader.ir.graph import Graph
from grader.ir.indices import NESTING_LIMIT, Indices
from grader.ir.linear import Knowledge, add, number

COMPARISONS = frozenset({"prim.EQ", "prim.GE", "prim.GT", "prim.LE", "prim.LT", "prim.NE"})
_DIVISIONS = frozenset({"prim.Div", "prim.FloorDiv", "prim.FloorMod", "prim.Mod"})
_OPPOSITE = {
    "prim.EQ": "prim.NE",
    "prim.GE": "prim.LT",
    "prim.GT": "prim.LE",
    "prim.LE": "prim.GT",
    "prim.LT": "prim.GE",
    "prim.NE": "prim.EQ",
}


CASE_LIMIT = 4
"""Most conditions that are looked at case by case at a place."""

CASE_DEPTH = 2
"""Most of them at a time."""


class _Case(NamedTuple):
    """Two conditions, by their nodes, of which at least one is true, or false (`truth`)."""

    one: int
    other: int
    truth: bool


class Expressions(Indices):
    """All expressions of a function: integers as forms, and whatever else is computed."""

    def __init__(
        self,
        graph: Graph,
        knowledge: Knowledge,
        doubts: Reasons,
        budget: Budget,
        load: Callable[[int], None],
    ) -> None:
        super().__init__(graph, knowledge, doubts, budget, load)
        self._visited: dict[int, None] = {}
        self._cases: dict[str, tuple[_Case, ...]] = {}

    # --- conditions -------------------------------------------------------------------------------

    def learn(self, index: int, truth: bool) -> None:
        """Take down until the end of the scope that a condition is true, or false."""
        self.budget.spend()
        graph, kind = self.graph, self.graph.type_of(index)
        if self.depth > NESTING_LIMIT:
            return
        self.depth += 1
        if kind == ("prim.And" if truth else "prim.Or"):
            self.learn(graph.field(index, "a"), truth)
            self.learn(graph.field(index, "b"), truth)
        # Of `i < 16 or j < 16` neither holds for certain, and of `not (i < 16 and j < 16)` neither
        # fails: to take both made wild indices proven ones (test_safety: either_of_two, not_both).
        elif kind in ("prim.And", "prim.Or"):
            self._remember(_Case(graph.field(index, "a"), graph.field(index, "b"), truth))
        elif kind == "prim.Not":
            self.learn(graph.field(index, "a"), not truth)
        elif kind == "ir.Call":
            arguments = graph.list(index, "args")
            operator = graph.field(index, "op")
            if graph.type_of(operator) == "ir.Op" and graph.text(operator) == "prim.likely":
                self.learn(arguments[0], truth)
        # What was loaded may be another number at the next load.
        elif kind in COMPARISONS and not self.holds_load(index):
            self._compare(index, kind if truth else _OPPOSITE[kind])
        self.depth -= 1

    def _remember(self, case: _Case) -> None:
        known = self._cases.get("", ())
        if len(known) < CASE_LIMIT:
            self.knowledge.put(self._cases, "", (*known, case))

    def proves(self, check: Callable[[], bool], depth: int = 0) -> bool:
        """Say whether something is certain, if need be in either case of a condition.

        Where a layout is padded, `not (i == 25 and j >= 3)` guards `i * 5 + j < 128`: for the one
        reason where `i` is 25, for the other where it is not.
        """
        if check():
            return True
        cases = self._cases.get("", ()) if depth < CASE_DEPTH else ()
        return any(
            all(self._proves_in(each, case.truth, check, depth) for each in case[:2])
            for case in reversed(cases)
        )

    def _proves_in(self, part: int, truth: bool, check: Callable[[], bool], depth: int) -> bool:
        with self.knowledge.scope():
            self.learn(part, truth)
            return self.proves(check, depth + 1)

    def _compare(self, index: int, kind: str) -> None:
        """Take down what a comparison says of integers: of one, not of each lane of a vector."""
        data_type = type_of(self.graph, self.graph.field(index, "a"))
        if data_type.numbers is None or data_type.lanes != 1:
            return
        left, right = self.operands(index)
        difference = add(left, right, -1)
        if kind in ("prim.GE", "prim.GT", "prim.EQ"):
            self.knowledge.learn(add(difference, number(-(kind == "prim.GT"))))
        if kind in ("prim.LE", "prim.LT", "prim.EQ"):
            self.knowledge.learn(add(number(-(kind == "prim.LT")), difference, -1))
        # `i != 25` bounds i only where 25 is one of its ends.
        if kind == "prim.NE":
            if self.knowledge.highest(difference, 0) == 0:  # i != 25 where i is at most 25
                self.knowledge.learn(add(number(-1), difference, -1))
            elif self.knowledge.lowest(difference, 0) == 0:
                self.knowledge.learn(add(difference, number(-1)))

    # --- values -----------------------------------------------------------------------------------

    def visit(self, index: int) -> None:
        """Look at a value that is only stored, or at a condition: at its loads, divisions and
        choices. All parts of a condition are computed, whatever its first ones say."""
        graph, pending = self.graph, [index]
        while pending:
            item = pending.pop()
            if item in self._visited:
                continue
            self.knowledge.put(self._visited, item, None)
            self.budget.spend(1 + len(graph.children[item]))
            pending.extend(self._visit_one(item))

    def _visit_one(self, index: int) -> list[int]:
        """Look at one node and return those of its parts that are still to be looked at."""
        graph, kind = self.graph, self.graph.type_of(index)
        if kind == "ir.Var":
            self.variable(index)
            return []
        if kind == "ir.TensorLoad":
            self.take_load(index)
            return []
        if kind == "prim.Let" or (kind == "ir.Call" and self._is_choice(index)):
            self._visit_scopes(index)
            return []
        # Floating-point numbers may be divided by zero.
        if kind in _DIVISIONS and type_of(graph, index).numbers is not None:
            self._visit_divisor(graph.field(index, "b"))
        if kind in COMPARISONS:
            return [each for name in "ab" for each in self._operand(graph.field(index, name))]
        if kind == "prim.Cast" and type_of(graph, index).kind == "bool":
            return self._operand(graph.field(index, "value"))
        if kind == "ir.Call":
            return [each for each in graph.list(index, "args") if graph.is_scalar_or_array(each)]
        return [each for each in graph.children[index] if graph.is_scalar_or_array(each)]

    def _operand(self, index: int) -> list[int]:
        """Look at what a condition is about: numbers that are not loaded must fit their types."""
        if type_of(self.graph, index).numbers is None or self.holds_load(index):
            return [index]
        self.evaluate(index)
        return []

    def _is_choice(self, index: int) -> bool:
        operator = self.graph.field(index, "op")
        name = self.graph.text(operator) if self.graph.type_of(operator) == "ir.Op" else ""
        return name == "prim.if_then_else" and len(self.graph.list(index, "args")) == 3

    def _visit_divisor(self, index: int) -> None:
        """Look at the divisor of integers. One that is loaded may end the process, and no more."""
        if self.holds_load(index):
            return
        if self.knowledge.lowest(self.evaluate(index), 1) < 1:
            self.doubts.doubt("unproven-division", type_of(self.graph, index).scalar)

    def _visit_scopes(self, index: int) -> None:
        graph = self.graph
        if self.depth > NESTING_LIMIT:
            self.doubts.doubt("unproven-nesting", "")
            return
        self.depth += 1
        if graph.type_of(index) == "prim.Let":
            with self.knowledge.scope():
                self.bind(graph.field(index, "var"), graph.field(index, "value"))
                self.visit(graph.field(index, "body"))
        else:
            condition, *values = graph.list(index, "args")
            self.visit(condition)
            for value, truth in zip(values, (True, False), strict=True):
                with self.knowledge.scope():
                    self.learn(condition, truth)
                    self.visit(value)
        self.depth -= 1
