"""Loops whose iterations overlap: one writes an element that another one writes or reads.

All accesses of a function are recorded as it is written, by computing their indices for the
iterations of the loops that they depend on. Nothing is run, so it costs what the indices cost: of
a matrix product no index of the output depends on the loop of the sum. Beyond `POINTS` iterations,
only the first and the last ones of the longest loops are recorded; symbolic extents are `SYMBOLIC`.
A module decides neither how much memory that takes nor how long: 300 stores took 6 GB and 87 s.

A buffer whose accesses all lie in one loop is that loop's own: TVM allocates it there. It does not
where the loop is an axis of a sum in one of the blocks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
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

FEWEST_POINTS = 2**8
"""Iterations that an access is recorded for, however many others there are of its buffer."""

TOGETHER = 2**22
"""Most iterations that all accesses of a buffer in a loop are recorded for: 32 MB a column."""

WORK = 2**25
"""Most recorded indices of one module; loops that come later are not looked at."""

SYMBOLIC = 6
"""What stands for an extent that the caller decides."""

NESTING_LIMIT = 64
"""Deepest expression or statement that is looked at."""

_AXES = 32
"""Most axes of an array in every version of NumPy."""

KINDS = {1: "parallel", 2: "vectorized"}
_SPATIAL = 0

_OVERLAPS = {
    (False, True): say("in-function-iterations-loop-overlap-writes"),
    (False, False): say("in-function-iterations-loop-overlap-writes-elements"),
    (True, True): say("in-function-iterations-loop-write-same"),
    (True, False): say("in-function-iterations-loop-read-what-others-write"),
}
"""The sentence for iterations that overlap. The first of the keys says whether one statement makes
both accesses: a statement mostly has the name of its buffer. The second says whether both store."""

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
    """A loop, by its node: two of them may have one variable."""

    node: int
    variable: int
    low: int
    extent: int
    step: int | None
    kind: str


class _Condition(NamedTuple):
    """What holds where an access happens: an expression is `truth`, or equal to another one."""

    expression: int
    truth: bool
    equal: int | None = None


class _Around(NamedTuple):
    """Where a statement stands: the loops around it and what holds there, from the outside.

    `sums` are the values of the blocks' iterators that are not spatial, `block` is the name of the
    innermost of these.
    """

    loops: tuple[_Loop, ...] = ()
    conditions: tuple[_Condition, ...] = ()
    sums: tuple[int, ...] = ()
    block: str = ""

    def where(self, *conditions: _Condition) -> "_Around":
        """Return the same place, under more conditions."""
        return self._replace(conditions=(*self.conditions, *conditions))


class _Access(NamedTuple):
    """A load or store: of `buffer`, in the loops and blocks around it, from the outside.

    `sums` are the values of the blocks' iterators that are not spatial. `starts` are where the
    parts of buffers begin that it goes through, the innermost first.
    """

    buffer: int
    indices: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]
    stores: bool
    loops: tuple[_Loop, ...]
    conditions: tuple[_Condition, ...]
    sums: tuple[int, ...]
    statement: str


class _Record(NamedTuple):
    """Where an access is made: arrays that are broadcast to the shape of the `mask`, and count
    where that holds. `place` has one for each outer loop, and then one for each index; `round` is
    the iteration of the loop that is looked at."""

    place: tuple[_Numbers, ...]
    round: _Numbers
    mask: npt.NDArray[np.bool_]

    def kept(self, column: _Numbers) -> _Numbers:
        """Return a column where the mask holds, in a row."""
        return np.broadcast_to(column, self.mask.shape)[self.mask]


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
        self.values: dict[int, int | None] = {}
        self.loops: dict[int, list[_Loop]] = {}
        self.parts: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.accesses: list[_Access] = []
        self.of_buffer: dict[int, list[_Access]] = defaultdict(list)
        self.movable: set[int] = set()
        self.inside: dict[int, tuple[_Loop, ...]] = {}

    def read(self, function: int) -> Iterator[Finding]:
        """Return the first race. Raises IRError where the budget is spent."""
        graph = self.graph
        loops = (node for node, kind in enumerate(graph.types) if kind == "tirx.For")
        if not any(graph.field(node, "kind") in KINDS for node in loops):
            return
        self._statement(graph.field(function, "body"), _Around(), 0)
        looked: set[_Loop] = set()
        for access in self.accesses:
            for loop in access.loops:
                if loop.kind and loop not in looked:
                    looked.add(loop)
                    finding = self._race_of(loop)
                    if finding is not None:
                        yield finding
                        return

    # --- accesses ---------------------------------------------------------------------------------

    def _statement(  # noqa: C901 - one branch for each kind
        self, index: int, around: _Around, depth: int
    ) -> None:
        """Take down all accesses of a statement."""
        graph = self.graph
        self.budget.spend()
        if depth > NESTING_LIMIT:
            return
        kind = graph.type_of(index)

        def go(statement: int, *more: _Condition) -> None:
            self._statement(statement, around.where(*more), depth + 1)

        if kind == "tirx.For":
            loop = _Loop(
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
            go(graph.field(index, "then_case"), _Condition(condition, True))
            otherwise = graph.optional(index, "else_case")
            if otherwise is not None:
                go(otherwise, _Condition(condition, False))
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
        elif kind in ("tirx.AttrStmt", "tirx.While"):
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
                    first.append(_Condition(variable, True, graph.field(domain, "min")))
        for buffer in graph.list(block, "alloc_buffers"):
            self.movable.add(buffer)
            self.inside[buffer] = around.loops
        for match in graph.list(block, "match_buffers"):
            region = graph.field(match, "source")
            starts = [graph.field(each, "min") for each in graph.list(region, "region")]
            self.parts[graph.field(match, "buffer")] = graph.field(region, "source"), tuple(starts)
        predicate = _Condition(graph.field(index, "predicate"), True)
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
        seen: set[int] = set()
        while pending:
            index, known = pending.pop()
            if index in seen:
                continue
            seen.add(index)
            self.budget.spend()
            if graph.type_of(index) == "ir.TensorLoad":
                indices = graph.list(index, "indices")
                self._access(graph.field(index, "source"), indices, False, known)
                pending.extend((each, known) for each in indices)
                continue
            is_call = graph.type_of(index) == "ir.Call"
            among = graph.list(index, "args") if is_call else graph.children[index]
            children = [each for each in among if graph.is_scalar_or_array(each)]
            if is_call:
                operator = graph.field(index, "op")
                is_choice = graph.type_of(operator) == "ir.Op" and len(children) == 3
                if is_choice and graph.text(operator) == "prim.if_then_else":
                    condition, *sides = children
                    children = [condition]
                    for side, truth in zip(sides, (True, False), strict=True):
                        pending.append((side, known.where(_Condition(condition, truth))))
            if graph.type_of(index) == "prim.Let":
                self._name(graph.field(index, "var"), graph.field(index, "value"))
            pending.extend((each, known) for each in children)

    def _access(self, buffer: int, indices: list[int], stores: bool, around: _Around) -> None:
        starts: list[tuple[int, ...]] = []
        while buffer in self.parts and len(starts) <= len(self.parts):  # a part of itself: no end
            buffer, start = self.parts[buffer]
            starts.append(start)
        loops, conditions, sums, block = around
        statement = block or self.graph.name(buffer)
        access = _Access(
            buffer, tuple(indices), tuple(starts), stores, loops, conditions, sums, statement
        )
        self.accesses.append(access)
        self.of_buffer[buffer].append(access)

    def _name(self, variable: int, value: int) -> None:
        """Note what a variable stands for; one that is defined anew may stand for anything."""
        known = self.values.setdefault(variable, value)
        if known != value:
            self.values[variable] = None

    # --- races ------------------------------------------------------------------------------------

    def _race_of(self, loop: _Loop) -> Finding | None:
        """Return a finding where two iterations of a loop meet."""
        within = [each for each in self.accesses if loop in each.loops]
        of_buffer: dict[int, list[_Access]] = defaultdict(list)
        for each in within:
            of_buffer[each.buffer].append(each)
        for buffer, accesses in of_buffer.items():
            if not any(each.stores for each in accesses) or self._is_own(buffer, loop):
                continue
            pair = self._meeting(loop, accesses)
            if pair is not None:
                return self._finding(loop, buffer, pair)
        return None

    def _is_own(self, buffer: int, loop: _Loop) -> bool:
        """Say whether every iteration of a loop has its own buffer."""
        if loop in self.inside.get(buffer, ()):
            return True
        accesses = self.of_buffer[buffer]
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
        stores = [each for each in accesses if each.stores]
        ordered = [*stores, *(each for each in accesses if not each.stores)]
        points = min(POINTS, max(FEWEST_POINTS, TOGETHER // len(ordered)))
        records = []
        for access in ordered:
            record = self._record(access, loop, [*outer], points)
            if record is None:
                # By contents, two iterations may meet anywhere. Lanes of a vector are not at once.
                return (stores[0], access) if loop.kind == "parallel" else None
            records.append((access, record))
        return _meet(records)

    def _read_for(self, access: _Access) -> list[int]:
        """Return the expressions that decide where an access is made."""
        conditions = (each.expression for each in access.conditions)
        starts = (each for part in access.starts for each in part)
        return [*access.indices, *starts, *conditions]

    def _uses(self, expressions: list[int]) -> set[int]:
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

    def _record(
        self, access: _Access, loop: _Loop, outer: list[_Loop], points: int
    ) -> _Record | None:
        """Return where an access is made; None where that depends on more than loops."""
        uses = self._uses(self._read_for(access)) | {loop.variable}
        uses |= {each.variable for each in outer}
        uses |= self._uses([*uses])
        loops = [each for each in access.loops if each.variable in uses]
        try:
            grid = _Grid(self, loops, loop, points)
            indices = [grid.value(each) for each in access.indices]
            for part in access.starts:
                indices = _shifted_by([grid.value(each) for each in part], indices)
            mask = grid.mask(access.conditions, indices)
            *place, rounds = (grid.value(each.variable) for each in (*outer, loop))
        except (_UnknownError, ValueError):  # vectors of different lengths
            return None
        self.budget.spend(2 * mask.size)
        return _Record((*place, *indices), rounds, mask)

    def _finding(self, loop: _Loop, buffer: int, pair: tuple[_Access, _Access]) -> Finding:
        graph = self.graph
        one, other = pair
        told = {
            "name": shown(self.name),
            "kind": loop.kind,
            "loop": shown(graph.name(loop.variable)),
            "buffer": shown(graph.name(buffer)),
        }
        if one.statement != other.statement:
            told |= {"one": shown(one.statement), "other": shown(other.statement)}
        message = say(_OVERLAPS[one.statement == other.statement, other.stores], **told)
        return Finding("race", graph.name(buffer), self.name, message)


def _shifted_by(starts: list[_Numbers], indices: list[_Numbers]) -> list[_Numbers]:
    """Return the indices of a part of a buffer as those of the buffer, which may have more."""
    skipped = len(starts) - len(indices)
    if skipped < 0:
        raise _UnknownError
    inner = [a + b for a, b in zip(starts[skipped:], indices, strict=True)]
    return [*starts[:skipped], *inner]


class _Grid:
    """The iterations of some loops, as arrays of one axis a loop, and a last one for lanes."""

    def __init__(
        self, function: _Function, loops: list[_Loop], looked_at: _Loop, points: int
    ) -> None:
        """`points` are the most iterations; of the loop that is `looked_at` there are always two.

        Raises _UnknownError where there are more loops than arrays may have axes.
        """
        self._function = function
        self._known: dict[int, Any] = {}
        self._shape: list[int] = []
        self._limits: list[Any] = []
        self._axes = len(loops) + 1
        if self._axes > _AXES:
            raise _UnknownError
        room = points
        for place, loop in enumerate(loops):
            spared = 2 ** min(len(loops) - 1 - place, 60)  # two iterations of each loop within
            self._axis(loop, max(2 if loop == looked_at else 1, room // spared))
            room = max(1, room // max(1, self._shape[-1]))
        self._shape.append(1)

    def _axis(self, loop: _Loop, most: int) -> None:
        """Add a loop: all of its iterations, or the first and the last ones."""
        step = 1 if loop.step is None else constant(self._function.graph, loop.step)
        if step is None or step < 1:
            raise _UnknownError
        limit = self.value(loop.extent)
        count = -(-max(int(np.max(limit)), 0) // step)
        if count > most:
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
        self._known[loop.variable] = places + self.value(loop.low)
        self._shape.append(len(kept))

    def value(self, index: int) -> Any:
        """Return an integer expression in all iterations. Raises _UnknownError."""
        return self._value(index, 0)

    def _value(self, index: int, depth: int) -> Any:
        if index not in self._known:
            if depth > NESTING_LIMIT:
                raise _UnknownError
            self._known[index] = self._compute(index, depth + 1)
            self._function.budget.spend(np.size(self._known[index]))
        return self._known[index]

    def _compute(self, index: int, depth: int) -> Any:  # noqa: C901 - the same
        graph, function = self._function.graph, self._function
        number = constant(graph, index)
        if number is not None:
            return np.full([1] * self._axes, number, np.int64)
        kind = graph.type_of(index)

        def of(name: str) -> Any:
            return self._value(graph.field(index, name), depth)

        if index in function.values:
            named = function.values[index]
            if named is None:
                raise _UnknownError
            return self._value(named, depth)
        if kind == "ir.Var":
            if index in function.loops:
                raise _UnknownError
            return np.full([1] * self._axes, SYMBOLIC, np.int64)
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
        if kind == "prim.BitwiseNot":
            return np.bitwise_not(of("a"))
        if kind in ("prim.Cast", "prim.Broadcast"):
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
        raise _UnknownError

    def _shifted(self, value: Any, amount: Any, *, left: bool) -> Any:
        if np.min(amount, initial=0) < 0 or np.max(amount, initial=0) > 31:
            raise _UnknownError
        return value << amount if left else value >> amount

    def _lanes(self, base: Any, stride: Any, count: int) -> Any:
        """Return the numbers of a vector, along the last axis."""
        lanes = constant(self._function.graph, count)
        if lanes is None or base.shape[-1] != 1:
            raise _UnknownError
        return base + stride * np.arange(lanes, dtype=np.int64)

    def mask(self, conditions: tuple[_Condition, ...], indices: list[Any]) -> npt.NDArray[np.bool_]:
        """Return in which iterations conditions hold; those by contents may always."""
        holds = [*self._limits]
        for each in conditions:
            with suppress(_UnknownError):
                value = self.value(each.expression)
                if each.equal is not None:
                    holds.append(value == self.value(each.equal))
                else:
                    holds.append((value != 0) == each.truth)
        shapes = (each.shape for each in (*holds, *indices))
        mask = np.ones(np.broadcast_shapes(tuple(self._shape), *shapes), bool)
        for each in holds:
            mask &= each
        return mask


def _meet(records: list[tuple[_Access, _Record]]) -> tuple[_Access, _Access] | None:
    """Return two accesses, the first of them a store, that meet in two iterations.

    Stores come before loads in the `records`.
    """
    key = _elements([record for _, record in records])
    rounds = np.concatenate([record.kept(record.round) for _, record in records])
    count = [int(np.count_nonzero(record.mask)) for _, record in records]
    written = sum(total for (access, _), total in zip(records, count, strict=True) if access.stores)
    size = key.max(initial=-1) + 1
    low, high = np.full(size, 2**62), np.full(size, -(2**62))
    np.minimum.at(low, key[:written], rounds[:written])
    np.maximum.at(high, key[:written], rounds[:written])
    met = (low[key] <= high[key]) & ((low[key] != rounds) | (high[key] != rounds))
    if not met.any():
        return None
    place = int(np.argmax(met))
    owner = int(np.argmax((key == key[place]) & (rounds != rounds[place])))
    ends = np.cumsum(count)
    one, other = (records[int(np.searchsorted(ends, each, "right"))][0] for each in (owner, place))
    return (one, other) if one.stores else (other, one)


def _elements(records: list[_Record]) -> _Numbers:
    """Return a small number for every element that is touched, for all records in a row."""
    keys = [np.zeros(np.count_nonzero(record.mask), np.int64) for record in records]
    known = 1
    for columns in zip(*(record.place for record in records), strict=True):
        # Before they are broadcast, columns are short.
        different = np.unique(np.concatenate([each.reshape(-1) for each in columns]))
        if known * len(different) >= 2**62:
            keys, known = _numbered(keys)
        known *= max(len(different), 1)
        for key, record, column in zip(keys, records, columns, strict=True):
            key *= len(different)
            key += record.kept(np.searchsorted(different, column))
    return np.concatenate(_numbered(keys)[0] if known > 4 * sum(map(len, keys)) else keys)


def _numbered(keys: list[_Numbers]) -> tuple[list[_Numbers], int]:
    """Return keys as the numbers of those that there are, and how many these are."""
    different, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    ends = np.cumsum([len(each) for each in keys])[:-1]
    return np.split(numbers.reshape(-1), ends), len(different)
