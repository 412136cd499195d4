"""Where a function touches its buffers: every load and store, with the loops and conditions around.

Indices are computed for the iterations of the loops that they depend on (`Iterations`). Nothing is
run, so it costs what the indices cost: of a matrix product no index of the output depends on the
loop of the sum. Beyond a number of iterations, only the first and the last ones of the longest
loops are looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.errors import IRError
from grader.ir.expressions import Budget, constant, type_of
from grader.ir.facts import Finding
from grader.ir.graph import Graph

NESTING_LIMIT = 64
"""Deepest expression or statement that is looked at."""

LARGEST = 2**31
"""Numbers beyond are none that an index could be, and what is computed of others has 64 bits."""

_AXES = 32
"""Most axes of an array in every version of NumPy."""

KINDS = {1: "parallel", 2: "vectorized"}
_SPATIAL = 0

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "prim.Add": np.add,
    "prim.And": np.logical_and,
    "prim.BitwiseAnd": np.bitwise_and,
    "prim.BitwiseOr": np.bitwise_or,
    "prim.BitwiseXor": np.bitwise_xor,
    "prim.EQ": np.equal,
    "prim.FloorDiv": np.floor_divide,
    "prim.FloorMod": np.mod,
    "prim.GE": np.greater_equal,
    "prim.GT": np.greater,
    "prim.LE": np.less_equal,
    "prim.LT": np.less,
    "prim.Max": np.maximum,
    "prim.Min": np.minimum,
    "prim.Mod": np.fmod,
    "prim.Mul": np.multiply,
    "prim.NE": np.not_equal,
    "prim.Or": np.logical_or,
    "prim.Sub": np.subtract,
}
_DIVISIONS = frozenset({"prim.Div", "prim.FloorDiv", "prim.FloorMod", "prim.Mod"})


class UnknownError(Exception):
    """Raised where an index depends on more than loops."""


class Loop(NamedTuple):
    """A loop, by its node: two of them may have one variable."""

    node: int
    variable: int
    low: int
    extent: int
    step: int | None
    kind: str


class Condition(NamedTuple):
    """What holds where an access happens: an expression is `truth`, or equal to another one."""

    expression: int
    truth: bool
    equal: int | None = None


class _Around(NamedTuple):
    """Where a statement stands: the loops around it and what holds there, from the outside.

    `sums` are the values of the blocks' iterators that are not spatial, `block` is the name of the
    innermost of these.
    """

    loops: tuple[Loop, ...] = ()
    conditions: tuple[Condition, ...] = ()
    sums: tuple[int, ...] = ()
    block: str = ""

    def where(self, *conditions: Condition) -> _Around:
        """Return the same place, under more conditions."""
        return self._replace(conditions=(*self.conditions, *conditions))


class Access(NamedTuple):
    """A load or store: of `buffer`, in the loops and blocks around it, from the outside.

    `sums` are the values of the blocks' iterators that are not spatial. `starts` are where the
    parts of buffers begin that it goes through, the innermost first.
    """

    buffer: int
    indices: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]
    stores: bool
    loops: tuple[Loop, ...]
    conditions: tuple[Condition, ...]
    sums: tuple[int, ...]
    statement: str

    @property
    def decided_by(self) -> list[int]:
        """The expressions that decide where it is made."""
        conditions = (each.expression for each in self.conditions)
        starts = (each for part in self.starts for each in part)
        return [*self.indices, *starts, *conditions]


class Accesses:
    """All accesses of a function, in the order of the program, and what its names stand for.

    `movable` are buffers that blocks allocate, `inside` has the loops around where a buffer is.
    """

    def __init__(self, graph: Graph, function: int, budget: Budget) -> None:
        """Read a function. Raises IRError where the budget is spent."""
        self.graph = graph
        self.budget = budget
        self.values: dict[int, int | None] = {}
        self.loops: dict[int, list[Loop]] = {}
        self.parts: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.all: list[Access] = []
        self.of_buffer: dict[int, list[Access]] = defaultdict(list)
        self.movable: set[int] = set()
        self.inside: dict[int, tuple[Loop, ...]] = {}
        self._statement(graph.field(function, "body"), _Around(), 0)

    def _statement(  # noqa: C901 - one branch for each kind
        self, index: int, around: _Around, depth: int
    ) -> None:
        """Take down all accesses of a statement."""
        graph = self.graph
        self.budget.spend()
        if depth > NESTING_LIMIT:
            return
        kind = graph.type_of(index)

        def go(statement: int, *more: Condition) -> None:
            self._statement(statement, around.where(*more), depth + 1)

        if kind == "tirx.For":
            loop = Loop(
                index,
                graph.field(index, "loop_var"),
                graph.field(index, "min"),
                graph.field(index, "extent"),
                graph.optional(index, "step"),
                KINDS.get(graph.field(index, "kind"), ""),
            )
            self.loops.setdefault(loop.variable, []).append(loop)
            inner = around._replace(loops=(*around.loops, loop))
            self._statement(graph.field(index, "body"), inner, depth + 1)
        elif kind == "tirx.SeqStmt":
            for each in graph.list(index, "seq"):
                go(each)
        elif kind == "tirx.IfThenElse":
            condition = graph.field(index, "condition")
            self._loads([condition], around)
            go(graph.field(index, "then_case"), Condition(condition, True))
            otherwise = graph.optional(index, "else_case")
            if otherwise is not None:
                go(otherwise, Condition(condition, False))
        elif kind == "tirx.While":
            condition = graph.field(index, "condition")
            self._loads([condition], around)
            go(graph.field(index, "body"), Condition(condition, True))
        elif kind == "tirx.BufferStore":
            indices = graph.list(index, "indices")
            self._loads([graph.field(index, "value"), *indices], around)
            self._access(graph.field(index, "buffer"), indices, True, around)
        elif kind == "tirx.Bind":
            self._name(graph.field(index, "var"), graph.field(index, "value"))
            self._loads([graph.field(index, "value")], around)
        elif kind == "tirx.Evaluate":
            self._loads([graph.field(index, "value")], around)
        elif kind == "tirx.AssertStmt":
            self._loads([graph.field(index, "condition")], around)
        elif kind == "tirx.AllocBuffer":
            self.inside[graph.field(index, "buffer")] = around.loops
        elif kind == "tirx.AttrStmt":
            go(graph.field(index, "body"))
        elif kind == "s_tir.SBlockRealize":
            self._block(index, around, depth)

    def _block(self, index: int, around: _Around, depth: int) -> None:
        graph, block = self.graph, self.graph.field(index, "block")
        first, sums = [], around.sums
        values = graph.list(index, "iter_values")
        for iterator, value in zip(graph.list(block, "iter_vars"), values, strict=True):
            variable, domain = graph.field(iterator, "var"), graph.optional(iterator, "dom")
            self._name(variable, value)
            if graph.field(iterator, "iter_type") != _SPATIAL:
                sums = (*sums, value)
                if domain is not None:
                    first.append(Condition(variable, True, graph.field(domain, "min")))
        for buffer in graph.list(block, "alloc_buffers"):
            self.movable.add(buffer)
            self.inside[buffer] = around.loops
        for match in graph.list(block, "match_buffers"):
            region = graph.field(match, "source")
            starts = [graph.field(each, "min") for each in graph.list(region, "region")]
            self.parts[graph.field(match, "buffer")] = graph.field(region, "source"), tuple(starts)
        predicate = Condition(graph.field(index, "predicate"), True)
        name = graph.name(block, "name_hint")
        within = around.where(predicate)._replace(sums=sums, block=name)
        init = graph.optional(block, "init")
        if init is not None:
            self._statement(init, within.where(*first), depth + 1)
        self._statement(graph.field(block, "body"), within, depth + 1)

    def _loads(self, expressions: list[int], around: _Around) -> None:
        """Take down the loads of expressions, of a choice those of a side where it is taken."""
        graph = self.graph
        pending = [(each, around) for each in expressions]
        seen: set[tuple[int, tuple[Condition, ...]]] = set()
        while pending:
            index, known = pending.pop()
            if (index, known.conditions) in seen:
                continue
            seen.add((index, known.conditions))
            self.budget.spend()
            kind = graph.type_of(index)
            if kind == "ir.TensorLoad":
                indices = graph.list(index, "indices")
                self._access(graph.field(index, "source"), indices, False, known)
                pending.extend((each, known) for each in indices)
                continue
            if kind == "prim.Let":
                self._name(graph.field(index, "var"), graph.field(index, "value"))
            pending.extend(
                (each, known.where(*conditions))
                for each, *conditions in self._operands(index, kind)
                if graph.is_scalar_or_array(each)
            )

    def _operands(self, index: int, kind: str) -> list[tuple[Any, ...]]:
        """Return what an expression is made of, each with the condition that it is computed under.

        A window with padding loads `A[i - 1]` where `1 <= i`: elsewhere the index leaves A, and
        nothing is wrong.
        """
        graph = self.graph
        if kind in ("prim.And", "prim.Or"):
            left, right = graph.field(index, "a"), graph.field(index, "b")
            return [(left,), (right, Condition(left, kind == "prim.And"))]
        if kind == "prim.Select":
            names = ("condition", "true_value", "false_value")
            choice = [graph.field(index, name) for name in names]
        elif kind == "ir.Call":
            operator, choice = graph.field(index, "op"), graph.list(index, "args")
            name = graph.text(operator) if graph.type_of(operator) == "ir.Op" else ""
            if name == "tirx.assume":  # is never computed
                return []
            if name != "prim.if_then_else" or len(choice) != 3:
                return [(each,) for each in choice]
        else:
            return [(each,) for each in graph.children[index]]
        condition, right, wrong = choice
        return [
            (condition,),
            (right, Condition(condition, True)),
            (wrong, Condition(condition, False)),
        ]

    def _access(self, buffer: int, indices: list[int], stores: bool, around: _Around) -> None:
        starts: list[tuple[int, ...]] = []
        while buffer in self.parts and len(starts) <= len(self.parts):  # a part of itself: no end
            buffer, start = self.parts[buffer]
            starts.append(start)
        loops, conditions, sums, block = around
        statement = block or self.graph.name(buffer)
        access = Access(
            buffer, tuple(indices), tuple(starts), stores, loops, conditions, sums, statement
        )
        self.all.append(access)
        self.of_buffer[buffer].append(access)

    def _name(self, variable: int, value: int) -> None:
        """Note what a variable stands for; one that is defined anew may stand for anything."""
        known = self.values.setdefault(variable, value)
        if known != value:
            self.values[variable] = None

    def loops_of(self, access: Access, *others: Loop) -> tuple[Loop, ...]:
        """Return the loops that decide where an access is made and whether, and others of it."""
        mine = [each for each in access.loops if (constant(self.graph, each.extent) or 0) < 1]
        mine.extend(others)
        used = self.uses([*access.decided_by, *(each.variable for each in mine)])
        return tuple(each for each in access.loops if each.variable in used)

    def lanes(self, access: Access) -> int:
        """Return how many lanes the longest vector has that decides where an access is made."""
        return max((type_of(self.graph, each).lanes for each in access.decided_by), default=1)

    def uses(self, expressions: list[int]) -> set[int]:
        """Return the loops' variables that expressions depend on, through names and extents."""
        graph, found = self.graph, set[int]()
        pending, seen = list(expressions), set(expressions)
        while pending:
            self.budget.spend()
            index = pending.pop()
            if index in self.loops:
                found.add(index)
                children = [each for loop in self.loops[index] for each in (loop.low, loop.extent)]
            elif index in self.values:
                value = self.values[index]
                children = [] if value is None else [value]
            elif graph.type_of(index) == "ir.Var":
                children = []
            else:
                children = [
                    each for each in graph.children[index] if graph.is_scalar_or_array(each)
                ]
            new = [each for each in children if each not in seen]
            seen.update(new)
            pending.extend(new)
        return found


def find_in_each(
    graph: Graph,
    functions: dict[str, int],
    work: int,
    find: Callable[[str, Accesses], Iterable[Finding]],
) -> tuple[Finding, ...]:
    """Return what is found in the accesses of each function, by its name.

    The budget of `work` is one for all: what comes when it is spent is not looked at.
    """
    budget = Budget(work)
    found: list[Finding] = []
    with suppress(IRError):
        for name, function in functions.items():
            found.extend(find(name, Accesses(graph, function, budget)))
    return tuple(found)


class Iterations:
    """The iterations of some loops, as arrays of one axis a loop, and a last one for lanes.

    `is_complete` says that they are all there, `has_ends` that the first and the last one of each
    loop are.
    """

    def __init__(
        self,
        accesses: Accesses,
        loops: Sequence[Loop],
        points: int,
        *,
        looked_at: Loop | None = None,
        symbolic: int | None = None,
    ) -> None:
        """`points` are the most iterations; of a loop that is `looked_at` there are always two.

        `symbolic` stands for what the caller decides, and loops by contents have no axis. Where it
        is None, neither is to be known: raises UnknownError, as for more loops than arrays may have
        axes.
        """
        self._accesses = accesses
        self._graph = accesses.graph
        self._symbolic = symbolic
        self._known: dict[int, Any] = {}
        self._shape: list[int] = []
        self._limits: list[Any] = []
        self._axes = len(loops) + 1
        self.is_complete = self.has_ends = True
        if self._axes > _AXES:
            raise UnknownError
        room = points
        for place, loop in enumerate(loops):
            spared = 2 ** min(len(loops) - 1 - place, 60)  # two iterations of each loop within
            try:
                self._axis(loop, max(2 if loop == looked_at else 1, room // spared))
            except UnknownError:
                if symbolic is None:
                    raise
                self._shape.append(1)
            room = max(1, room // max(1, self._shape[-1]))
        self._shape.append(1)

    def _axis(self, loop: Loop, most: int) -> None:
        """Add a loop: all of its iterations, or the first and the last ones."""
        step = 1 if loop.step is None else constant(self._graph, loop.step)
        if step is None or step < 1:
            raise UnknownError
        limit, low = self.value(loop.extent), self.value(loop.low)
        count = -(-int(np.max(limit, initial=0)) // step)
        if count > most:
            self.is_complete = False
            self.has_ends &= most > 1
            first, last = most - most // 2, most // 2
            kept = np.concatenate(
                [np.arange(first), np.arange(count - last, count)], dtype=np.int64
            )
        else:
            kept = np.arange(count, dtype=np.int64)
        shape = [1] * self._axes
        shape[len(self._shape)] = len(kept)
        places = kept.reshape(shape) * step
        self._limits.append(places < limit)
        self._known[loop.variable] = places + low
        self._shape.append(len(kept))

    def value(self, index: int) -> Any:
        """Return an integer expression in all iterations. Raises UnknownError."""
        return self._value(index, 0)

    def _value(self, index: int, depth: int) -> Any:
        if index not in self._known:
            if depth > NESTING_LIMIT:
                raise UnknownError
            value = self._compute(index, depth + 1)
            self._accesses.budget.spend(np.size(value))
            # 300 as a number of 8 bits is another one, and so is -1 as one without a sign.
            numbers = type_of(self._graph, index).numbers
            if numbers is None:
                raise UnknownError
            low, high = max(numbers.low, -LARGEST), min(numbers.high, LARGEST)
            if np.max(value, initial=low) > high or np.min(value, initial=high) < low:
                raise UnknownError
            self._known[index] = value
        return self._known[index]

    def _compute(self, index: int, depth: int) -> Any:  # noqa: C901 - one branch for each kind
        graph, accesses = self._graph, self._accesses
        number = constant(graph, index)
        if number is not None:
            if abs(number) > LARGEST:
                raise UnknownError
            return np.full([1] * self._axes, number, np.int64)
        kind = graph.type_of(index)

        def of(name: str) -> Any:
            return self._value(graph.field(index, name), depth)

        if index in accesses.values:
            named = accesses.values[index]
            if named is None:
                raise UnknownError
            return self._value(named, depth)
        if kind == "ir.Var":
            if index in accesses.loops or self._symbolic is None:
                raise UnknownError
            return np.full([1] * self._axes, self._symbolic, np.int64)
        if kind in _DIVISIONS:
            left, right = of("a"), of("b")
            # TVM's own rules for other divisors are wrong.
            if np.min(right, initial=1) < 1:
                raise UnknownError
            if kind == "prim.Div":
                return np.sign(left) * (np.abs(left) // right)
            return _OPERATIONS[kind](left, right)
        if kind in _OPERATIONS:
            return _OPERATIONS[kind](of("a"), of("b")).astype(np.int64)
        if kind == "prim.Not":
            return np.logical_not(of("a")).astype(np.int64)
        if kind == "prim.BitwiseNot":
            return np.bitwise_not(of("a"))
        if kind in ("prim.Broadcast", "prim.Cast"):
            return of("value")
        if kind == "prim.Ramp":
            return self._lanes(of("base"), of("stride"), graph.field(index, "lanes"))
        if kind == "prim.Select":
            return np.where(of("condition"), of("true_value"), of("false_value"))
        if kind == "prim.Let":
            return of("body")
        if kind in ("prim.LShift", "prim.RShift"):
            return self._shifted(of("a"), of("b"), left=kind == "prim.LShift")
        if kind == "ir.Call" and graph.type_of(graph.field(index, "op")) == "ir.Op":
            name = graph.text(graph.field(index, "op"))
            arguments = graph.list(index, "args")
            if name == "prim.likely":
                return self._value(arguments[0], depth)
            if name == "prim.if_then_else":
                return np.where(*(self._value(each, depth) for each in arguments))
        raise UnknownError

    def _shifted(self, value: Any, amount: Any, *, left: bool) -> Any:
        if np.min(amount, initial=0) < 0 or np.max(amount, initial=0) > 31:
            raise UnknownError
        return value << amount if left else value >> amount

    def _lanes(self, base: Any, stride: Any, count: int) -> Any:
        """Return the numbers of a vector, along the last axis."""
        lanes = constant(self._graph, count)
        if lanes is None or base.shape[-1] != 1:
            raise UnknownError
        return base + stride * np.arange(lanes, dtype=np.int64)

    def mask(self, conditions: tuple[Condition, ...], indices: list[Any]) -> Mask:
        """Return in which iterations conditions hold; those by contents may always."""
        holds = [*self._limits]
        for each in conditions:
            with suppress(UnknownError):
                holds.append(self.holds(each))
        shapes = (each.shape for each in (*holds, *indices))
        mask = np.ones(np.broadcast_shapes(tuple(self._shape), *shapes), bool)
        for each in holds:
            mask &= each
        return mask

    def holds(self, condition: Condition) -> Mask:
        """Return in which iterations a condition holds. Raises UnknownError."""
        value = self.value(condition.expression)
        self._accesses.budget.spend(np.size(value) // 8)
        if condition.equal is not None:
            return np.asarray(value == self.value(condition.equal))
        return np.asarray((value != 0) == condition.truth)

    def ends(self, index: int, conditions: tuple[Condition, ...]) -> tuple[int, int] | None:
        """Return the least and the greatest of an expression where conditions hold.

        None where they never do. Raises UnknownError, also where some iterations are not there and
        conditions leave out the ends of a linear expression.
        """
        mask = np.ones((1,) * self._axes, bool)
        for holds in (*self._limits, *(self.holds(each) for each in conditions)):
            # Most leave nothing out. Those in a loop without a round are empty.
            if not (holds.size and holds.all()):
                mask = mask & holds
        value = self.value(index)
        values, mask = np.broadcast_arrays(value, mask)
        self._accesses.budget.spend(values.size // 8)
        kept = values[mask]
        if not kept.size:
            return None
        ends = int(kept.min()), int(kept.max())
        # Of `A[i]` under `i < 500000` the last one may be among those that are not there.
        if not self.is_complete and ends != (value.min(), value.max()):
            raise UnknownError
        return ends
