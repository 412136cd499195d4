"""Loops whose iterations overlap: one writes an element that another one writes or reads.

All accesses of a function are recorded as it is written, by computing their indices for the
iterations of the loops that they depend on. Nothing is run, so it costs what the indices cost: of
a matrix product no index of the output depends on the loop of the sum. Beyond `POINTS` iterations,
only the first and the last ones of the longest loops are recorded; symbolic extents are `SYMBOLIC`.

A buffer whose accesses all lie in one loop is that loop's own: TVM allocates it there. It does not
where the loop is an axis of a sum in one of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.errors import IRError
from grader.ir.expressions import Budget, constant
from grader.ir.facts import Finding
from grader.ir.graph import Graph
from grader.ir.vocabulary import shown
from grader.language import say

POINTS = 2**18
"""Most iterations that an access is recorded for."""

WORK = 2**25
"""Most recorded indices of one module; loops that come later are not looked at."""

SYMBOLIC = 6
"""What stands for an extent that the caller decides."""

NESTING_LIMIT = 64
"""Deepest expression or statement that is looked at."""

KINDS = {1: "parallel", 2: "vectorized"}
_SPATIAL = 0

_Numbers = npt.NDArray[np.int64]

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


class _UnknownError(Exception):
    """Raised where an index depends on more than loops."""


class _Loop(NamedTuple):
    variable: int
    low: int
    extent: int
    kind: str


class _Condition(NamedTuple):
    """What holds where an access happens: an expression is `truth`, or equal to another one."""

    expression: int
    truth: bool
    equal: int | None = None


class _Access(NamedTuple):
    """A load or store: of `buffer`, in the loops and blocks around it, from the outside.

    `sums` are the values of the blocks' iterators that are not spatial.
    """

    buffer: int
    indices: tuple[int, ...]
    starts: tuple[int, ...]
    stores: bool
    loops: tuple[_Loop, ...]
    conditions: tuple[_Condition, ...]
    sums: tuple[int, ...]
    statement: str


class _Record(NamedTuple):
    """Where an access is made: columns of equal length. `place` has one for each outer loop, and
    then one for each index; `round` is the iteration of the loop that is looked at."""

    place: tuple[_Numbers, ...]
    round: _Numbers


def find_races(graph: Graph, functions: dict[str, int]) -> tuple[Finding, ...]:
    """Return a finding for the first race of each function."""
    budget = Budget(WORK)
    found: list[Finding] = []
    for name, function in functions.items():
        try:
            found.extend(_Function(graph, name, budget).read(function))
        except IRError:  # noqa: PERF203 - the budget is one for all
            break
    return tuple(found)


class _Function:
    def __init__(self, graph: Graph, name: str, budget: Budget) -> None:
        self.graph = graph
        self.name = name
        self.budget = budget
        self.values: dict[int, int] = {}
        self.loops: dict[int, _Loop] = {}
        self.parts: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.accesses: list[_Access] = []
        self.movable: set[int] = set()
        self.inside: dict[int, tuple[_Loop, ...]] = {}

    def read(self, function: int) -> Iterator[Finding]:
        """Return the first race. Raises IRError where the budget is spent."""
        graph = self.graph
        kinds = (
            graph.field(each, "kind") for each in range(len(graph.types)) if self._is_for(each)
        )
        if not any(kind in KINDS for kind in kinds):
            return
        self._statement(graph.field(function, "body"), (), (), (), "", 0)
        looked: set[int] = set()
        for access in self.accesses:
            for loop in access.loops:
                if loop.kind and loop.variable not in looked:
                    looked.add(loop.variable)
                    finding = self._race_of(loop)
                    if finding is not None:
                        yield finding
                        return

    def _is_for(self, index: int) -> bool:
        return self.graph.types[index] == "tirx.For"

    # --- accesses ---------------------------------------------------------------------------------

    def _statement(  # noqa: C901 - one branch for each kind
        self,
        index: int,
        loops: tuple[_Loop, ...],
        conditions: tuple[_Condition, ...],
        sums: tuple[int, ...],
        block: str,
        depth: int,
    ) -> None:
        """Take down all accesses of a statement."""
        graph = self.graph
        self.budget.spend()
        if depth > NESTING_LIMIT:
            return
        kind = graph.type_of(index)

        def take(expressions: list[int]) -> None:
            self._loads(expressions, loops, conditions, sums, block)

        def go(statement: int, *more: _Condition) -> None:
            self._statement(statement, loops, (*conditions, *more), sums, block, depth + 1)

        if kind == "tirx.For":
            loop = _Loop(
                graph.field(index, "loop_var"),
                graph.field(index, "min"),
                graph.field(index, "extent"),
                KINDS.get(graph.field(index, "kind"), ""),
            )
            self.loops[loop.variable] = loop
            body = graph.field(index, "body")
            self._statement(body, (*loops, loop), conditions, sums, block, depth + 1)
        elif kind == "tirx.SeqStmt":
            for each in graph.list(index, "seq"):
                go(each)
        elif kind == "tirx.IfThenElse":
            condition = graph.field(index, "condition")
            take([condition])
            go(graph.field(index, "then_case"), _Condition(condition, True))
            otherwise = graph.optional(index, "else_case")
            if otherwise is not None:
                go(otherwise, _Condition(condition, False))
        elif kind == "tirx.BufferStore":
            indices = graph.list(index, "indices")
            take([graph.field(index, "value"), *indices])
            self._access(
                graph.field(index, "buffer"), indices, True, loops, conditions, sums, block
            )
        elif kind == "tirx.Bind":
            self.values[graph.field(index, "var")] = graph.field(index, "value")
            take([graph.field(index, "value")])
        elif kind == "tirx.Evaluate":
            take([graph.field(index, "value")])
        elif kind == "tirx.AllocBuffer":
            self.inside[graph.field(index, "buffer")] = loops
        elif kind in ("tirx.AttrStmt", "tirx.While"):
            go(graph.field(index, "body"))
        elif kind == "s_tir.SBlockRealize":
            self._block(index, loops, conditions, sums, depth)

    def _block(
        self,
        index: int,
        loops: tuple[_Loop, ...],
        conditions: tuple[_Condition, ...],
        sums: tuple[int, ...],
        depth: int,
    ) -> None:
        graph, block = self.graph, self.graph.field(index, "block")
        name = graph.name(block, "name_hint")
        conditions = (*conditions, _Condition(graph.field(index, "predicate"), True))
        first = []
        values = graph.list(index, "iter_values")
        for iterator, value in zip(graph.list(block, "iter_vars"), values, strict=True):
            variable, domain = graph.field(iterator, "var"), graph.optional(iterator, "dom")
            self.values[variable] = value
            if graph.field(iterator, "iter_type") != _SPATIAL:
                sums = (*sums, value)
                if domain is not None:
                    first.append(_Condition(variable, True, graph.field(domain, "min")))
        for buffer in graph.list(block, "alloc_buffers"):
            self.movable.add(buffer)
            self.inside[buffer] = loops
        for match in graph.list(block, "match_buffers"):
            region = graph.field(match, "source")
            starts = [graph.field(each, "min") for each in graph.list(region, "region")]
            self.parts[graph.field(match, "buffer")] = (
                graph.field(region, "source"),
                tuple(starts),
            )
        init = graph.optional(block, "init")
        if init is not None:
            self._statement(init, loops, (*conditions, *first), sums, name, depth + 1)
        self._statement(graph.field(block, "body"), loops, conditions, sums, name, depth + 1)

    def _loads(
        self,
        expressions: list[int],
        loops: tuple[_Loop, ...],
        conditions: tuple[_Condition, ...],
        sums: tuple[int, ...],
        block: str,
    ) -> None:
        """Take down the loads of expressions, of a choice those of a side where it is taken."""
        graph = self.graph
        pending = [(each, conditions) for each in expressions]
        seen: set[int] = set()
        while pending:
            index, known = pending.pop()
            if index in seen:
                continue
            seen.add(index)
            self.budget.spend()
            if graph.type_of(index) == "ir.TensorLoad":
                indices = graph.list(index, "indices")
                source = graph.field(index, "source")
                self._access(source, indices, False, loops, known, sums, block)
                pending.extend((each, known) for each in indices)
                continue
            children = [each for each in graph.children[index] if graph.is_scalar_or_array(each)]
            if graph.type_of(index) == "ir.Call":
                children = [
                    each for each in graph.list(index, "args") if graph.is_scalar_or_array(each)
                ]
                operator = graph.field(index, "op")
                is_choice = graph.type_of(operator) == "ir.Op" and len(children) == 3
                if is_choice and graph.text(operator) == "prim.if_then_else":
                    condition, *sides = children
                    children = [condition]
                    for side, truth in zip(sides, (True, False), strict=True):
                        pending.append((side, (*known, _Condition(condition, truth))))
            if graph.type_of(index) == "prim.Let":
                self.values[graph.field(index, "var")] = graph.field(index, "value")
            pending.extend((each, known) for each in children)

    def _access(
        self,
        buffer: int,
        indices: list[int],
        stores: bool,
        loops: tuple[_Loop, ...],
        conditions: tuple[_Condition, ...],
        sums: tuple[int, ...],
        block: str,
    ) -> None:
        starts: tuple[int, ...] = ()
        places = tuple(indices)
        if buffer in self.parts:
            buffer, starts = self.parts[buffer]
        statement = block or self.graph.name(buffer)
        self.accesses.append(
            _Access(buffer, places, starts, stores, loops, conditions, sums, statement)
        )

    # --- races ------------------------------------------------------------------------------------

    def _race_of(self, loop: _Loop) -> Finding | None:
        """Return a finding where two iterations of a loop meet."""
        within = [each for each in self.accesses if loop in each.loops]
        written = dict.fromkeys(each.buffer for each in within if each.stores)
        for buffer in written:
            accesses = [each for each in within if each.buffer == buffer]
            if self._is_own(buffer, loop):
                continue
            pair = self._meeting(loop, accesses)
            if pair is not None:
                return self._finding(loop, buffer, pair)
        return None

    def _is_own(self, buffer: int, loop: _Loop) -> bool:
        """Say whether every iteration of a loop has a buffer of its own."""
        if loop in self.inside.get(buffer, ()):
            return True
        accesses = [each for each in self.accesses if each.buffer == buffer]
        return (
            buffer in self.movable
            and all(loop in each.loops for each in accesses)
            and not any(loop.variable in self._uses([*each.sums]) for each in accesses)
        )

    def _meeting(self, loop: _Loop, accesses: list[_Access]) -> tuple[_Access, _Access] | None:
        """Return two accesses, the first of them a store, that meet in two iterations of a loop."""
        outer = dict.fromkeys(
            each
            for access in accesses
            for each in access.loops[: access.loops.index(loop)]
            if each.variable in self._uses(self._read_for(access))
        )
        writers = _Owners()
        stores = [each for each in accesses if each.stores]
        ordered = [*stores, *(each for each in accesses if not each.stores)]
        recorded = [(each, self._record(each, loop, [*outer])) for each in ordered]
        if any(record is None for _, record in recorded):
            # By contents, two iterations may meet anywhere. Lanes of a vector are not at once.
            other = next(access for access, record in recorded if record is None)
            return (stores[0], other) if loop.kind == "parallel" else None
        return writers.meet([(access, record) for access, record in recorded if record])

    def _read_for(self, access: _Access) -> list[int]:
        """Return the expressions that decide where an access is made."""
        conditions = (each.expression for each in access.conditions)
        return [*access.indices, *access.starts, *conditions]

    def _uses(self, expressions: list[int]) -> set[int]:
        """Return the loops' variables that expressions depend on, through names and extents."""
        graph, found = self.graph, set[int]()
        pending, seen = list(expressions), set(expressions)
        while pending:
            self.budget.spend()
            index = pending.pop()
            if index in self.loops:
                found.add(index)
                children = [self.loops[index].low, self.loops[index].extent]
            elif index in self.values:
                children = [self.values[index]]
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

    def _record(self, access: _Access, loop: _Loop, outer: list[_Loop]) -> _Record | None:
        """Return where an access is made; None where that depends on more than loops."""
        uses = self._uses(self._read_for(access)) | {loop.variable}
        uses |= {each.variable for each in outer}
        uses |= self._uses([*uses])
        loops = [each for each in access.loops if each.variable in uses]
        try:
            grid = _Grid(self, loops)
            indices = [grid.value(each) for each in access.indices]
            skipped = len(access.starts) - len(indices)
            starts = [grid.value(each) for each in access.starts]
        except _UnknownError:
            return None
        if starts:
            inner = [a + b for a, b in zip(starts[skipped:], indices, strict=True)]
            indices = [*starts[:skipped], *inner]
        mask = grid.mask(access.conditions)
        columns = [grid.value(each.variable) for each in (*outer, loop)]
        *place, rounds = (grid.flat(each)[mask] for each in columns)
        flat = (grid.flat(each)[mask] for each in indices)
        return _Record((*place, *flat), rounds)

    def _finding(self, loop: _Loop, buffer: int, pair: tuple[_Access, _Access]) -> Finding:
        graph = self.graph
        one, other = pair
        sentence = (
            say(
                "In the function {name}, iterations of the {kind} loop {loop} overlap: {one} writes"
                " elements of {buffer} that {other} writes in other iterations."
            )
            if other.stores
            else say(
                "In the function {name}, iterations of the {kind} loop {loop} overlap: {one} writes"
                " elements of {buffer} that {other} reads in other iterations."
            )
        )
        return Finding(
            "race",
            graph.name(buffer),
            self.name,
            say(
                sentence,
                name=shown(self.name),
                kind=loop.kind,
                loop=shown(graph.name(loop.variable)),
                one=shown(one.statement),
                buffer=shown(graph.name(buffer)),
                other=shown(other.statement),
            ),
        )


class _Grid:
    """The iterations of some loops, as arrays of one axis a loop."""

    def __init__(self, function: _Function, loops: list[_Loop]) -> None:
        self._function = function
        self._known: dict[int, Any] = {}
        self._shape: list[int] = []
        self._limits: list[Any] = []
        room = POINTS
        extents: list[int] = []
        for loop in loops:
            extent = np.max(self._value(loop.extent, 0, len(loops)))
            extents.append(max(int(extent), 0))
            self._axis(loop, extents[-1], room, len(loops))
            room = max(1, room // max(1, self._shape[-1]))
        self._axes = len(loops)

    def _axis(self, loop: _Loop, extent: int, room: int, axes: int) -> None:
        """Add a loop: all of its iterations, or the first and the last ones."""
        kept = np.arange(extent, dtype=np.int64)
        most = max(2, room)
        if extent > most:
            half = most // 2
            kept = np.concatenate([kept[:half], kept[extent - half :]])
        shape = [1] * axes
        shape[len(self._shape)] = len(kept)
        places = kept.reshape(shape)
        self._limits.append(places < self._value(loop.extent, 0, axes))
        self._known[loop.variable] = places + self._value(loop.low, 0, axes)
        self._shape.append(len(kept))

    def value(self, index: int) -> Any:
        """Return an integer expression in all iterations. Raises _UnknownError."""
        return self._value(index, 0, self._axes)

    def _value(self, index: int, depth: int, axes: int) -> Any:
        if index not in self._known:
            if depth > NESTING_LIMIT:
                raise _UnknownError
            self._known[index] = self._compute(index, depth + 1, axes)
            self._function.budget.spend(np.size(self._known[index]))
        return self._known[index]

    def _compute(self, index: int, depth: int, axes: int) -> Any:  # noqa: C901 - the same
        graph, function = self._function.graph, self._function
        number = constant(graph, index)
        if number is not None:
            return np.full([1] * axes, number, np.int64)
        kind = graph.type_of(index)

        def of(name: str) -> Any:
            return self._value(graph.field(index, name), depth, axes)

        if index in function.values:
            return self._value(function.values[index], depth, axes)
        if kind == "ir.Var":
            if index in function.loops:
                raise _UnknownError
            return np.full([1] * axes, SYMBOLIC, np.int64)
        if kind in _DIVISIONS:
            left, right = of("a"), of("b")
            # TVM's own rules for other divisors are wrong.
            if np.min(right, initial=1) < 1:
                raise _UnknownError
            if kind == "prim.Div":
                return np.sign(left) * (np.abs(left) // right)
            return _OPERATIONS[kind](left, right)
        if kind in _OPERATIONS:
            return _OPERATIONS[kind](of("a"), of("b")).astype(np.int64)
        if kind == "prim.Not":
            return np.logical_not(of("a")).astype(np.int64)
        if kind == "prim.Cast":
            return of("value")
        if kind == "prim.Broadcast":
            return of("value")
        if kind == "prim.Select":
            return np.where(of("condition"), of("true_value"), of("false_value"))
        if kind == "prim.Let":
            function.values[graph.field(index, "var")] = graph.field(index, "value")
            return of("body")
        if kind in ("prim.LShift", "prim.RShift"):
            return self._shifted(of("a"), of("b"), left=kind == "prim.LShift")
        if kind == "ir.Call" and graph.type_of(graph.field(index, "op")) == "ir.Op":
            name = graph.text(graph.field(index, "op"))
            arguments = graph.list(index, "args")
            if name == "prim.likely":
                return self._value(arguments[0], depth, axes)
            if name == "prim.if_then_else":
                return np.where(*(self._value(each, depth, axes) for each in arguments))
        raise _UnknownError

    def _shifted(self, value: Any, amount: Any, *, left: bool) -> Any:
        if np.min(amount, initial=0) < 0 or np.max(amount, initial=0) > 31:
            raise _UnknownError
        return value << amount if left else value >> amount

    def mask(self, conditions: tuple[_Condition, ...]) -> _Numbers:
        """Return in which iterations conditions hold; those by contents may always."""
        mask = np.ones(self._shape, bool)
        for limit in self._limits:
            mask &= limit
        for each in conditions:
            try:
                value = self.value(each.expression)
                if each.equal is not None:
                    mask &= value == self.value(each.equal)
                else:
                    mask &= (value != 0) == each.truth
            except _UnknownError:  # noqa: PERF203 - such a condition may hold or not
                continue
        return mask.reshape(-1)

    def flat(self, value: Any) -> _Numbers:
        """Return a value for every iteration, in a row."""
        return np.broadcast_to(value, self._shape).reshape(-1)


class _Owners:
    """Which iterations touch which elements."""

    def meet(self, records: list[tuple[_Access, _Record]]) -> tuple[_Access, _Access] | None:
        """Return two accesses, the first of them a store, that meet in two iterations."""
        count = [len(record.round) for _, record in records]
        columns = zip(*(record.place for _, record in records), strict=True)
        key = np.zeros(sum(count), np.int64)
        for each in columns:
            column = np.concatenate(each)
            _, number = np.unique(column, return_inverse=True)
            key = np.unique(key * (number.max(initial=0) + 1) + number, return_inverse=True)[1]
        rounds = np.concatenate([record.round for _, record in records])
        size = key.max(initial=-1) + 1
        low, high = np.full(size, 2**62), np.full(size, -(2**62))
        written = sum(
            total for (access, _), total in zip(records, count, strict=True) if access.stores
        )
        np.minimum.at(low, key[:written], rounds[:written])
        np.maximum.at(high, key[:written], rounds[:written])
        met = (low[key] <= high[key]) & ((low[key] != rounds) | (high[key] != rounds))
        if not met.any():
            return None
        place = int(np.argmax(met))
        owner = int(np.argmax((key == key[place]) & (rounds != rounds[place])))
        ends = np.cumsum(count)
        one, other = (
            records[int(np.searchsorted(ends, each, "right"))][0] for each in (owner, place)
        )
        return (one, other) if one.stores else (other, one)
