"""Index expressions as forms: where each stays, and that nothing in it overflows or divides by 0.

What is computed here is what TVM's code computes only as long as no number overflows its type:
LLVM takes signed overflow for impossible and may do anything where it happens. So every number on
the way to an index, an extent or a condition must be shown to fit, and what is not is a doubt.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from grader.ir.expressions import Budget, constant, type_of
from grader.ir.facts import Reasons
from grader.ir.graph import Graph
from grader.ir.linear import (
    LARGEST,
    TERM_LIMIT,
    Knowledge,
    LinearForm,
    Quotient,
    add,
    divide,
    divide_unknown,
    either,
    extreme,
    multiply,
    number,
    range_of,
    times,
)

CERTAIN_CALLS = frozenset(
    {"prim.if_then_else", "prim.likely", "tirx.ctpop", "tirx.popcount", "tirx.reinterpret"}
)
"""Intrinsics that give an integer whatever they are given. Others give poison for some: `clz` of 0,
and what shifts or multiplies as integers. No clamp helps then: LLVM takes min(poison, 15) for what
it likes."""

NESTING_LIMIT = 40
"""Deepest expression that is looked at; the reader recurses."""


class Indices(ABC):
    """Forms of the integer expressions of one function, while its statements are walked.

    `values` has what variables in scope stand for, `load` is told of every load and its indices
    have to be evaluated there. It returns nothing: what is loaded may be anything.
    """

    def __init__(
        self,
        graph: Graph,
        knowledge: Knowledge,
        doubts: Reasons,
        budget: Budget,
        load: Callable[[int], None],
    ) -> None:
        self.graph = graph
        self.knowledge = knowledge
        self.doubts = doubts
        self.budget = budget
        self.load = load
        self.values: dict[int, LinearForm] = {}
        self._memo: dict[int, LinearForm] = {}
        self.loads = 0
        self.depth = 0
        self._rules: dict[str, Callable[[int], LinearForm]] = {
            "ir.Call": self._call,
            "ir.TensorLoad": self.take_load,
            "ir.Var": self.variable,
            "prim.Add": lambda index: self._sum(index, 1),
            "prim.BitwiseAnd": self._bitwise_and,
            "prim.Broadcast": lambda index: self.evaluate(graph.field(index, "value")),
            "prim.Cast": self._cast,
            "prim.Div": lambda index: self._division(index).quotient,
            "prim.FloorDiv": lambda index: self._division(index).quotient,
            "prim.FloorMod": lambda index: self._division(index).remainder,
            "prim.LShift": self._left_shift,
            "prim.Let": self._let,
            "prim.Max": lambda index: self._extreme(index, largest=True),
            "prim.Min": lambda index: self._extreme(index, largest=False),
            "prim.Mod": lambda index: self._division(index).remainder,
            "prim.Mul": self._product,
            "prim.RShift": self._right_shift,
            "prim.Ramp": self._ramp,
            "prim.Select": self._select,
            "prim.Sub": lambda index: self._sum(index, -1),
        }

    @abstractmethod
    def visit(self, index: int) -> None:
        """Look at an expression that need not be an integer."""

    @abstractmethod
    def learn(self, index: int, truth: bool) -> None:
        """Take down until the end of the scope that a condition is true, or false."""

    # --- forms ------------------------------------------------------------------------------------

    def evaluate(self, index: int) -> LinearForm:
        """Return the form of an integer expression; of a vector, the form of any of its lanes.

        What holds a load is computed anew each time: the buffer may have been written in between,
        so `if A[0] < 8` says nothing of a later `A[0]`.
        """
        known = self._memo.get(index)
        if known is not None:
            return known
        self.budget.spend()
        if self.depth > NESTING_LIMIT:
            self.doubts.doubt("unproven-nesting", "")
            return self.anything(index)
        # `if place[0] < 16`, then `place[0] = 99`, then `A[place[0]]`: the second load is another
        # number (test_safety: stale_load).
        before = self.loads
        self.depth += 1
        form = self._compute(index)
        self.depth -= 1
        if len(form.terms) > TERM_LIMIT or abs(form.constant) > LARGEST:
            form = self.knowledge.unknown(*self.knowledge.reach(form))
        if self.loads == before:
            self.knowledge.put(self._memo, index, form)
        return form

    def _compute(self, index: int) -> LinearForm:
        value = constant(self.graph, index)
        if value is not None:
            return number(value)
        rule = self._rules.get(self.graph.type_of(index))
        if rule is not None:
            return rule(index)
        self.visit(index)
        return self.anything(index)

    def anything(self, index: int) -> LinearForm:
        """Return an unknown of which only the data type is known."""
        numbers = type_of(self.graph, index).numbers
        return self.knowledge.unknown(*(numbers or (-LARGEST, LARGEST)))

    def _checked(self, index: int, form: LinearForm) -> LinearForm:
        """Return a result if it fits its type, whatever the order it is computed in."""
        # An index may be small only because a number overflows on the way to it, even one of 64
        # bits that is cut to its buffer later (cheats wild_overflow, wild_product).
        numbers, know = type_of(self.graph, index).numbers, self.knowledge
        if (
            numbers is not None
            and know.magnitude(form) <= numbers.high
            # An unsigned 3 - i is a huge number where i is 4 (cheat wild_unsigned).
            and (numbers.low < 0 or know.lowest(form, 0) >= 0)
        ):
            return form
        self.doubts.doubt("unproven-overflow", type_of(self.graph, index).scalar)
        return self.anything(index)

    def operands(self, index: int) -> tuple[LinearForm, LinearForm]:
        """Return the forms of both operands."""
        graph = self.graph
        return self.evaluate(graph.field(index, "a")), self.evaluate(graph.field(index, "b"))

    # --- variables and loads ----------------------------------------------------------------------

    def variable(self, index: int) -> LinearForm:
        """Return what a variable stands for."""
        known = self.values.get(index)
        if known is None:
            # A variable outside of its scope is whatever LLVM left in its place, if it compiles.
            self.doubts.refuse("unguarded-scope", self.graph.name(index))
            return self.anything(index)
        return known

    def take_load(self, index: int) -> LinearForm:
        """Have a load looked at, and return what it may give."""
        self.loads += 1
        self.load(index)
        return self.anything(index)

    def _let(self, index: int) -> LinearForm:
        graph = self.graph
        with self.knowledge.scope():
            self.bind(graph.field(index, "var"), graph.field(index, "value"))
            return self.evaluate(graph.field(index, "body"))

    def bind(self, variable: int, value: int) -> None:
        """Let a variable stand for a value until the end of the scope.

        What only holds numbers that were loaded may overflow as it likes: it is anything.
        """
        # A sum that is not initialised overflows in whole numbers: to doubt that told students of
        # their indices, and not of the missing start.
        if type_of(self.graph, value).numbers is None or self.holds_load(value):
            self.visit(value)
            self.define(variable, self.anything(value))
        else:
            self.define(variable, self.evaluate(value))

    def define(self, variable: int, form: LinearForm) -> None:
        """Let a variable stand for a form until the end of the scope.

        One that is in scope already is refused: which of both a use means is TVM's choice.
        """
        if variable in self.values:
            self.doubts.refuse("unguarded-scope", self.graph.name(variable))
        self.knowledge.put(self.values, variable, form)

    def holds_load(self, index: int) -> bool:
        """Say whether an expression loads anything."""
        graph, seen, pending = self.graph, {index}, [index]
        while pending:
            children = graph.children[pending.pop()]
            self.budget.spend(1 + len(children))
            for child in children:
                if graph.type_of(child) == "ir.TensorLoad":
                    return True
                if child not in seen and graph.is_scalar_or_array(child):
                    seen.add(child)
                    pending.append(child)
        return graph.type_of(index) == "ir.TensorLoad"

    # --- sums, products, quotients ----------------------------------------------------------------

    def _sum(self, index: int, sign: int) -> LinearForm:
        left, right = self.operands(index)
        return self._checked(index, add(left, right, sign))

    def _product(self, index: int) -> LinearForm:
        return self._checked(index, multiply(self.knowledge, *self.operands(index)))

    def _extreme(self, index: int, *, largest: bool) -> LinearForm:
        return extreme(self.knowledge, *self.operands(index), largest=largest)

    def _division(self, index: int) -> Quotient:
        """Return quotient and remainder of a division.

        `Div` and `Mod` round to zero: `-7 // 2` is -4, and truncated it is -3.
        """
        left, right = self.operands(index)
        know = self.knowledge
        # TVM computes `j % -4 // 4` as `j // 4 % -1`: an axis of `j % -4 + 4` took an index to -23
        # of 27 items (cases of `DIVIDED` in tests/ir/test_compiled.py). A divisor of 0 LLVM takes
        # for impossible, and what leads there with it (cheat wild_division).
        if know.lowest(right, 1) < 1:
            self.doubts.doubt("unproven-division", type_of(self.graph, index).scalar)
            return Quotient(self.anything(index), self.anything(index))
        # Of `(j % 2 + 1) % 2` TVM makes `(j + 1) % 2`, and takes that for `j % 2` beside it.
        shift = left.constant % right.constant if right.is_constant else left.constant
        if shift and any(unknown in know.divided for unknown, _ in left.terms):
            self.doubts.doubt("unproven-division", type_of(self.graph, index).scalar)
        # What is left over has the sign of the dividend where it is rounded towards zero: as an
        # index it was negative (cheat wild_modulo).
        floor = self.graph.type_of(index) in ("prim.FloorDiv", "prim.FloorMod")
        # -1 / 2 is 0 truncated and -1 rounded down: not so of a dividend that is not negative.
        floor = floor or know.lowest(left, 0) >= 0
        if floor and right.is_constant:
            return divide(know, left, right.constant)
        return divide_unknown(know, left, right, floor=floor)

    # --- bits -------------------------------------------------------------------------------------

    def _shift(self, index: int) -> int | None:
        """Return by how many bits is shifted, None where it is unknown; more than there are is
        undefined."""
        # Shifted by more bits than there are, a number is poison, and no clamp helps behind it.
        amount = self.evaluate(self.graph.field(index, "b"))
        bits = type_of(self.graph, index).bits
        if self.knowledge.lowest(amount, 0) < 0 or self.knowledge.highest(amount, bits - 1) >= bits:
            self.doubts.doubt("unproven-overflow", type_of(self.graph, index).scalar)
            return None
        return amount.constant if amount.is_constant else None

    def _left_shift(self, index: int) -> LinearForm:
        value, amount = self.evaluate(self.graph.field(index, "a")), self._shift(index)
        if amount is None:
            self.doubts.doubt("unproven-overflow", type_of(self.graph, index).scalar)
            return self.anything(index)
        return self._checked(index, times(value, 2**amount))

    def _right_shift(self, index: int) -> LinearForm:
        value, amount = self.evaluate(self.graph.field(index, "a")), self._shift(index)
        return (
            self.anything(index)
            if amount is None
            else divide(self.knowledge, value, 2**amount).quotient
        )

    def _bitwise_and(self, index: int) -> LinearForm:
        """Return the lowest bits of a number, or what is no larger than a mask."""
        left, right = self.operands(index)
        if left.is_constant:
            left, right = right, left
        mask = range_of(self.knowledge, right)
        # `(i - 32) & (i - 40)` of two negative numbers is negative: only a mask without a sign
        # bounds.
        if mask.low < 0:
            return self.anything(index)
        if right.is_constant and not (mask.low + 1) & mask.low:
            return divide(self.knowledge, left, mask.low + 1).remainder
        return self.knowledge.unknown(0, mask.high)

    # --- types, choices, vectors ------------------------------------------------------------------

    def _cast(self, index: int) -> LinearForm:
        """Return a number in another type, where it fits: `2**31` as an int32 is negative.

        So was an index that was narrowed to eight bits and back (cheat wild_cast).
        """
        value = self.graph.field(index, "value")
        numbers, source = type_of(self.graph, index).numbers, type_of(self.graph, value)
        if source.numbers is None:
            self.visit(value)
            # 1e20 as an int32 is poison: each use of it may be another number.
            self.doubts.doubt("unproven-conversion", source.scalar)
            return self.anything(index)
        form = self.evaluate(value)
        know = self.knowledge
        if (
            numbers is not None
            and know.lowest(form, numbers.low) >= numbers.low
            and know.highest(form, numbers.high) <= numbers.high
        ):
            return form
        if type_of(self.graph, index).kind != "bool":
            self.doubts.doubt("unproven-overflow", type_of(self.graph, index).scalar)
        return self.anything(index)

    def _ramp(self, index: int) -> LinearForm:
        graph = self.graph
        base, stride = (self.evaluate(graph.field(index, name)) for name in ("base", "stride"))
        lanes = constant(graph, graph.field(index, "lanes")) or 1
        # All lanes are accessed: of `A[i * 4 : i * 4 + 8]` the last one decides, not the first
        # (test_safety: end_of_a_vector).
        lane = self.knowledge.unknown(0, lanes - 1)
        return self._checked(index, add(base, multiply(self.knowledge, lane, stride)))

    def _select(self, index: int) -> LinearForm:
        """Return either value. Both are computed whatever the condition says."""
        self.visit(self.graph.field(index, "condition"))
        sides = [self.graph.field(index, name) for name in ("true_value", "false_value")]
        return either(
            self.knowledge, *(range_of(self.knowledge, self.evaluate(each)) for each in sides)
        )

    def _call(self, index: int) -> LinearForm:
        graph = self.graph
        operator, arguments = graph.field(index, "op"), graph.list(index, "args")
        name = graph.text(operator) if graph.type_of(operator) == "ir.Op" else ""
        if name == "prim.likely" and len(arguments) == 1:
            return self.evaluate(arguments[0])
        if name == "prim.if_then_else" and len(arguments) == 3:
            self.visit(arguments[0])
            ranges = []
            # A value is only computed where its condition holds, unlike that of a Select.
            for value, truth in zip(arguments[1:], (True, False), strict=True):
                with self.knowledge.scope():
                    self.learn(arguments[0], truth)
                    ranges.append(range_of(self.knowledge, self.evaluate(value)))
            return either(self.knowledge, *ranges)
        for argument in arguments:
            if graph.is_scalar_or_array(argument):
                self.visit(argument)
        data_type = type_of(graph, index)
        # Zeros counted before the first bit of 0, a shift or an overflow within an intrinsic: an
        # index made of them was anything, whatever it was clamped to (cheats wild_zeros,
        # wild_shift, wild_fma).
        if data_type.kind in ("int", "uint") and name not in CERTAIN_CALLS:
            self.doubts.doubt("unproven-conversion", name)
        return self.anything(index)
