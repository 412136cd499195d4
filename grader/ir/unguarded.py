"""What no guard sees: layouts and sizes, addresses, expressions that are not what they say, names
that stand for nothing or for two things. A function that has any of it is never timed.

Whatever else a function may do outside of its buffers, a guard sees while it runs
(`grader.inside.common.guards`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from grader.errors import IRError
from grader.ir.expressions import (
    ARITHMETIC,
    Budget,
    DataType,
    constant,
    data_type,
    is_buffer,
    item_type,
    parse,
    plain_integer,
    type_of,
)
from grader.ir.facts import Finding
from grader.ir.graph import Graph
from grader.ir.vocabulary import shown
from grader.language import say

WORK_LIMIT = 1_000_000
"""Most steps of looking through the functions of one module."""

NESTING_LIMIT = 60
"""Most scopes around a statement or within an expression; the reader recurses."""

_COPYING_LOOPS = (2, 3)
"""Kinds of loops whose body TVM writes out for each round: vectorized and unrolled."""

_BELIEVED = {"explicit_read_region": "reads", "explicit_write_region": "writes"}
"""Annotations by which TVM believes what a block declares, and where it does."""


def find_unguarded(graph: Graph, name: str, function: int, budget: Budget) -> Finding | None:
    """Return the first of what a PrimFunc does that no guard sees, or None.

    One that is too long for what is left of `budget` may do it where nothing looked.
    """
    refusals = Refusals(name)
    try:
        nodes = _nodes(graph, function, budget)
        harmless = _Harmless(graph, refusals)
        harmless.look(nodes)
        # The rest is only read of expressions that are what they say.
        if refusals.first is None:
            _Scopes(graph, refusals, harmless.padding, budget).read(function)
    except IRError:
        refusals.refuse("unguarded-length", "")
    return refusals.first


def _nodes(graph: Graph, function: int, budget: Budget) -> list[int]:
    """Return all nodes that a function's body and parameters refer to."""
    roots = {graph.field(function, "body"), *graph.list(function, "params")}
    return sorted(budget.walk(roots, graph.children.__getitem__))


class Refusals:
    """The first reason why a guard does not help. Its code is the id of its sentence."""

    def __init__(self, name: str) -> None:
        self.first: Finding | None = None
        self._name = name

    def refuse(self, code: str, subject: str) -> None:
        """Take down that the function does, or may do, what no guard sees."""
        if self.first is None:
            text = say(code, name=shown(self._name), subject=shown(subject))
            self.first = Finding(code=code, subject=subject, where=self._name, message=text)


# --- scopes ---------------------------------------------------------------------------------------
# A variable outside of its scope is whatever LLVM left in its place, a buffer is memory that was
# given back, and of two that one name stands for TVM chooses.


class _Scopes:
    """Walks a function's statements in the order of the program, with what is in scope there."""

    def __init__(self, graph: Graph, refusals: Refusals, padding: int, budget: Budget) -> None:
        self.graph = graph
        self.refusals = refusals
        self.padding = padding
        self.budget = budget
        self.variables: set[int] = set()
        self.buffers: set[int] = set()
        self.seen: set[int] = set()
        self.copies = 1
        self._depth = 0
        self._added: list[tuple[set[int], int]] = []
        self.rules: dict[str, Callable[[int], None]] = {
            "s_tir.SBlockRealize": self._block,
            "tirx.AllocBuffer": lambda index: self._allocate(graph.field(index, "buffer")),
            "tirx.AssertStmt": lambda index: self._look(graph.field(index, "condition")),
            "tirx.AttrStmt": lambda index: self._within(graph.field(index, "body")),
            "tirx.Bind": self._bind,
            "tirx.BufferStore": self._store,
            "tirx.Evaluate": lambda index: self._look(graph.field(index, "value")),
            "tirx.For": self._loop,
            "tirx.IfThenElse": self._choice,
            "tirx.SeqStmt": self._sequence,
        }

    def read(self, function: int) -> None:
        """Look through the whole function. Raises IRError where the budget is spent."""
        graph = self.graph
        parameters = graph.list(function, "params")
        self.budget.spend(len(parameters))
        for parameter in parameters:
            self._define_extents(parameter)
        for parameter in parameters:
            if is_buffer(graph, parameter):
                self._declare(parameter, dense=True)
        self.statement(graph.field(function, "body"))

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Forget what was added in the body. Raises IRError where scopes are too deep."""
        if self._depth == NESTING_LIMIT:
            raise IRError(say("module-nested-more-than-levels-deep", depth_limit=NESTING_LIMIT))
        before, copies = len(self._added), self.copies
        self._depth += 1
        yield
        self._depth -= 1
        self.copies = copies
        for known, item in self._added[before:]:
            known.remove(item)
        del self._added[before:]

    def _add(self, known: set[int], item: int) -> None:
        known.add(item)
        self._added.append((known, item))

    def _define(self, known: set[int], item: int) -> None:
        if item in known:
            self.refusals.refuse("unguarded-scope", self.graph.name(item))
        else:
            self._add(known, item)

    def _demand(self, known: set[int], item: int) -> None:
        if item not in known:
            self.refusals.refuse("unguarded-scope", self.graph.name(item))

    # --- buffers ----------------------------------------------------------------------------------

    def _define_extents(self, parameter: int) -> None:
        """Let a number, or the variables of an array's shape, stand for what the caller gives."""
        graph = self.graph
        if not is_buffer(graph, parameter):
            if type_of(graph, parameter).numbers is None:
                self.refusals.refuse("unguarded-pointer", graph.name(parameter))
            self._define(self.variables, parameter)
            return
        for item in graph.list(graph.field(parameter, "ty"), "shape"):
            if graph.type_of(item) == "ir.Var" and item not in self.variables:
                self._add(self.variables, item)

    def _declare(self, buffer: int, *, dense: bool) -> None:
        """Let a buffer be used until the end of the scope."""
        graph = self.graph
        if not _has_plain_layout(graph, buffer) or (dense and not _is_dense(graph, buffer)):
            self.refusals.refuse("unguarded-layout", graph.name(buffer))
        self._look(*graph.list(graph.field(buffer, "ty"), "shape"))
        self._define(self.buffers, buffer)

    def _allocate(self, buffer: int) -> None:
        """Let a buffer be used that is new: TVM multiplies its extents without looking at what
        comes of it. An unrolled loop of 8,192 rounds around a small one has 8,192 of it."""
        self._declare(buffer, dense=True)
        size = _allocated_bytes(self.graph, buffer, self.padding)
        if size is not None and size * self.copies > SIZE_LIMIT:
            self.refusals.refuse("unguarded-large", self.graph.name(buffer))

    # --- statements -------------------------------------------------------------------------------

    def statement(self, index: int) -> None:
        """Look at a statement and at those inside it, in the order of the program."""
        self.budget.spend()
        rule = self.rules.get(self.graph.type_of(index))
        if rule is None:
            self.refusals.refuse("unguarded-types", self.graph.type_of(index))
        else:
            rule(index)

    def _sequence(self, index: int) -> None:
        with self._scope():
            for each in self.graph.list(index, "seq"):
                self.statement(each)

    def _within(self, statement: int) -> None:
        with self._scope():
            self.statement(statement)

    def _bind(self, index: int) -> None:
        self._look(self.graph.field(index, "value"))
        self._define(self.variables, self.graph.field(index, "var"))

    def _store(self, index: int) -> None:
        graph = self.graph
        self._demand(self.buffers, graph.field(index, "buffer"))
        self._look(graph.field(index, "value"), *graph.list(index, "indices"))

    def _loop(self, index: int) -> None:
        graph = self.graph
        step = graph.optional(index, "step")
        extent = graph.field(index, "extent")
        self._look(graph.field(index, "min"), extent, *([] if step is None else [step]))
        with self._scope():
            if graph.field(index, "kind") in _COPYING_LOOPS:
                self.copies *= max(1, constant(graph, extent) or 1)
            self._define(self.variables, graph.field(index, "loop_var"))
            self.statement(graph.field(index, "body"))

    def _choice(self, index: int) -> None:
        graph = self.graph
        self._look(graph.field(index, "condition"))
        branches = (graph.field(index, "then_case"), graph.optional(index, "else_case"))
        for branch in branches:
            if branch is not None:
                self._within(branch)

    def _block(self, index: int) -> None:
        self._look(self.graph.field(index, "predicate"), *self.graph.list(index, "iter_values"))
        with self._scope():
            self._block_within(self.graph.field(index, "block"))

    def _block_within(self, block: int) -> None:
        graph = self.graph
        for iterator in graph.list(block, "iter_vars"):
            domain = graph.optional(iterator, "dom")
            if domain is not None:
                self._look(graph.field(domain, "min"), graph.field(domain, "extent"))
            self._define(self.variables, graph.field(iterator, "var"))
        for buffer in graph.list(block, "alloc_buffers"):
            self._allocate(buffer)
        for match in graph.list(block, "match_buffers"):
            self._match(match)
        for key, value in graph.pairs(graph.field(block, "annotations")):
            if graph.text(key) in _BELIEVED:
                self._believe(block, _BELIEVED[graph.text(key)], graph.text(key), value)
        init = graph.optional(block, "init")
        if init is not None:
            self._within(init)
        self.statement(graph.field(block, "body"))

    def _match(self, match: int) -> None:
        """Let a buffer be a part of another one: its indices are added to where the part begins.

        TVM goes by the whole's strides, so its own do not matter.
        """
        graph = self.graph
        buffer, region = graph.field(match, "buffer"), graph.field(match, "source")
        source = graph.field(region, "source")
        if item_type(graph, buffer) != item_type(graph, source):
            self.refusals.refuse("unguarded-types", graph.name(buffer))  # its items may be larger
        self._demand(self.buffers, source)
        for each in graph.list(region, "region"):
            self._look(graph.field(each, "min"), graph.field(each, "extent"))
        self._declare(buffer, dense=False)

    def _believe(self, block: int, side: str, annotation: str, places: int) -> None:
        """Look at the regions that TVM believes: it looks up the writes by a place that it has
        compared with the number of reads."""
        graph, declared = self.graph, self.graph.list(block, side)
        listed = graph.items(places) if graph.type_of(places) == "ffi.Array" else [places]
        most = min(len(declared), len(graph.list(block, "reads")))
        for place in (plain_integer(graph, each) for each in listed):
            if place is None or not 0 <= place < most:
                self.refusals.refuse("unguarded-annotation", annotation)

    # --- expressions ------------------------------------------------------------------------------

    def _look(self, *roots: int) -> None:
        """Look at expressions: what they use must be in scope."""
        graph, pending = self.graph, [*roots]
        while pending:
            index = pending.pop()
            if index in self.seen:
                continue
            self._add(self.seen, index)
            children = graph.children[index]
            self.budget.spend(1 + len(children))
            kind = graph.type_of(index)
            if kind == "ir.Var":
                self._demand(self.variables, index)
            elif kind == "prim.Let":
                self._let(index)
            elif kind == "ir.TensorLoad":
                self._demand(self.buffers, graph.field(index, "source"))
                pending.extend(graph.list(index, "indices"))
            else:
                pending.extend(each for each in children if graph.is_scalar_or_array(each))

    def _let(self, index: int) -> None:
        graph = self.graph
        with self._scope():
            self._look(graph.field(index, "value"))
            self._define(self.variables, graph.field(index, "var"))
            self._look(graph.field(index, "body"))


# --- where buffers lie ----------------------------------------------------------------------------
# That a buffer is as large as its extents say, and each item within it has a place of its own.
#
# TVM computes an address from extents, strides, an offset and a layout, each of which a module may
# write down as it likes, and allocates by the extents: with strides of (1, 100), an index within
# the extents (4, 4) is 300 items away from the four that were allocated. So only dense buffers
# pass.


SIZE_LIMIT = 2**30 - 1
"""Most bytes of an allocation: TVM multiplies its extents as int32, and 2**32 + 64 bytes are 64.
Where it makes vectors of the items, our builds allocate twice as much
(`grader.inside.common.allocations`)."""

ALIGNMENT_LIMIT = 1024
"""Largest factor that a row of a buffer may be aligned to, in items."""


def _is_dense(graph: Graph, buffer: int) -> bool:
    """Say whether the items of a buffer lie one behind the other, from the beginning on."""
    kind = graph.field(buffer, "ty")
    extents = [constant(graph, item) for item in graph.list(kind, "shape")]
    strides = graph.list(kind, "strides")
    # A buffer that was said to begin a hundred items behind its allocation (cheat wild_offset).
    if constant(graph, graph.field(kind, "elem_offset")) != 0:
        return False
    if not strides:
        return True
    return [constant(graph, item) for item in strides] == _dense_strides(extents)


def _has_plain_layout(graph: Graph, buffer: int) -> bool:
    """Say whether a buffer's layout, if it has one, is that of its extents."""
    kind = graph.field(buffer, "ty")
    layout = graph.optional(kind, "layout")
    if layout is None:
        return True
    if graph.list(layout, "replica") or graph.items(graph.field(layout, "offset")):
        return False
    extents = [constant(graph, item) for item in graph.list(kind, "shape")]
    pieces = graph.list(layout, "shard")
    return [constant(graph, graph.field(piece, "extent")) for piece in pieces] == extents and [
        constant(graph, graph.field(piece, "stride")) for piece in pieces
    ] == _dense_strides(extents)


def _dense_strides(extents: list[int | None]) -> list[int | None]:
    strides: list[int | None] = []
    stride: int | None = 1
    for extent in reversed(extents):
        strides.append(stride)
        stride = None if stride is None or extent is None else stride * extent
    return strides[::-1]


def _allocated_bytes(graph: Graph, buffer: int, padding: int = 0) -> int | None:
    """Return how many bytes an allocation takes, None where its extents are no constants.

    `padding` items are added to each row and each row of rows, as the alignment of rows may do.
    """
    size = item_type(graph, buffer).size
    for item in graph.list(graph.field(buffer, "ty"), "shape"):
        extent = constant(graph, item)
        if extent is None:
            return None
        size *= extent + padding
    return size


def _alignment_padding(graph: Graph, annotation: int) -> int | None:
    """Return by how many items an alignment may lengthen a row, None where it is none.

    The annotation is a list of (buffer, axis, factor, offset). TVM computes `stride % factor` with
    it, which is negative for a negative factor: rows would overlap in a buffer that is too small.
    """
    largest = 0
    if graph.type_of(annotation) != "ffi.Array":
        return None
    for entry in graph.items(annotation):
        parts = graph.items(entry) if graph.type_of(entry) == "ffi.Array" else []
        numbers = [plain_integer(graph, part) for part in parts]
        if len(numbers) != 4:
            return None
        _, _, factor, offset = numbers
        # Rows aligned to -16 items overlap (cheat wild_alignment).
        if factor is None or offset is None or not 0 <= offset < factor <= ALIGNMENT_LIMIT:
            return None
        largest = max(largest, factor)
    return largest


# --- expressions and annotations ------------------------------------------------------------------


_POINTERS = frozenset(
    {"tirx.buffer_data", "tirx.tvm_stack_make_array", "tirx.tvm_stack_make_shape"}
)
"""Intrinsics that are or take addresses. The last two also grow the stack at every call."""

_COMPARISONS = frozenset({"prim.EQ", "prim.GE", "prim.GT", "prim.LE", "prim.LT", "prim.NE"})
_LOGIC = frozenset({"prim.And", "prim.Or"})


class _Harmless:
    """Looks at the nodes of a function one by one, wherever they stand."""

    def __init__(self, graph: Graph, refusals: Refusals) -> None:
        self.graph = graph
        self.refusals = refusals
        self.padding = 0
        self._rules: dict[str, Callable[[int], bool]] = {
            "ir.Call": self._call,
            "ir.TensorLoad": self._load,
            "prim.Broadcast": self._broadcast,
            "prim.Cast": lambda index: (
                self._lanes(index) == self._lanes(graph.field(index, "value"))
            ),
            "prim.Let": self._let,
            "prim.Not": lambda index: self._are_alike(index, graph.field(index, "a")),
            "prim.Ramp": self._ramp,
            "prim.Select": self._select,
            "prim.Shuffle": lambda _: False,
            "s_tir.SBlock": self._block,
            "tirx.AssertStmt": lambda index: self._is_condition(graph.field(index, "condition")),
            "tirx.Bind": lambda index: self._are_alike(*self._fields(index, "var", "value")),
            "tirx.BufferStore": self._store,
            "tirx.For": self._loop,
            "tirx.IfThenElse": lambda index: self._is_condition(graph.field(index, "condition")),
        }

    def look(self, nodes: list[int]) -> None:
        """Look at all nodes of a function.

        Afterwards `padding` says by how many items rows of a buffer may be lengthened.
        """
        for index in nodes:
            kind = self.graph.type_of(index)
            if kind in ARITHMETIC:
                good = self._are_alike(index, *self._fields(index, "a", "b"))
            elif kind in _COMPARISONS or kind in _LOGIC:
                good = self._is_comparison(index, kind in _LOGIC)
            else:
                rule = self._rules.get(kind)
                good = rule is None or rule(index)
            if not good:
                self.refusals.refuse("unguarded-types", kind.rpartition(".")[2])

    # --- types ------------------------------------------------------------------------------------

    def _fields(self, index: int, *names: str) -> list[int]:
        return [self.graph.field(index, name) for name in names]

    def _lanes(self, index: int) -> int:
        return type_of(self.graph, index).lanes

    def _are_alike(self, *expressions: int) -> bool:
        types = {type_of(self.graph, each) for each in expressions}
        return len(types) == 1 and next(iter(types)).kind not in ("", "handle", "void")

    def _is_condition(self, index: int) -> bool:
        return type_of(self.graph, index) == parse("bool")

    def _is_comparison(self, index: int, is_logic: bool) -> bool:
        sides = self._fields(index, "a", "b")
        own, side = type_of(self.graph, index), type_of(self.graph, sides[0])
        alike = self._are_alike(*sides) and own.lanes == side.lanes
        return alike and own.kind == "bool" and (not is_logic or side.kind == "bool")

    def _let(self, index: int) -> bool:
        variable, value, body = self._fields(index, "var", "value", "body")
        return self._are_alike(variable, value) and self._are_alike(index, body)

    def _select(self, index: int) -> bool:
        condition, *values = self._fields(index, "condition", "true_value", "false_value")
        kind = type_of(self.graph, condition)
        lanes = (1, self._lanes(index))
        return self._are_alike(index, *values) and kind.kind == "bool" and kind.lanes in lanes

    def _broadcast(self, index: int) -> bool:
        return self._is_vector_of(index, self.graph.field(index, "value"))

    def _ramp(self, index: int) -> bool:
        base, stride = self._fields(index, "base", "stride")
        return self._are_alike(base, stride) and self._is_vector_of(index, base)

    def _is_vector_of(self, index: int, item: int) -> bool:
        own, inner = type_of(self.graph, index), type_of(self.graph, item)
        lanes = constant(self.graph, self.graph.field(index, "lanes"))
        return inner.lanes == 1 and own.lanes == lanes and own.scalar == inner.scalar

    def _loop(self, index: int) -> bool:
        bounds = self._fields(index, "loop_var", "min", "extent")
        step = self.graph.optional(index, "step")
        return self._are_alike(*bounds, *([] if step is None else [step])) and (
            type_of(self.graph, bounds[0]).lanes == 1
        )

    # --- accesses ---------------------------------------------------------------------------------

    def _load(self, index: int) -> bool:
        graph = self.graph
        item = item_type(graph, graph.field(index, "source"))
        declared = parse(data_type(graph, graph.field(index, "ty")))
        return self._is_access(item, graph.list(index, "indices"), declared)

    def _store(self, index: int) -> bool:
        graph = self.graph
        item = item_type(graph, graph.field(index, "buffer"))
        value = type_of(graph, graph.field(index, "value"))
        return self._is_access(item, graph.list(index, "indices"), value)

    def _is_access(self, item: DataType, indices: list[int], value: DataType) -> bool:
        """Say whether as many items are moved as there are indices.

        A store of eight lanes by one index writes seven items behind it. Only the last index may be
        a vector, as TVM demands.
        """
        lanes = [self._lanes(each) for each in indices] or [1]
        kinds = {type_of(self.graph, each).kind for each in indices}
        # The first lane lay in the buffer, and the last seven behind it (cheat wild_lane).
        fits = value.lanes == item.lanes * lanes[-1] and value.scalar == item.scalar
        return fits and kinds <= {"int", "uint"} and all(each == 1 for each in lanes[:-1])

    # --- calls and annotations --------------------------------------------------------------------

    def _call(self, index: int) -> bool:
        graph = self.graph
        operator, arguments = graph.field(index, "op"), graph.list(index, "args")
        if graph.type_of(operator) != "ir.Op":
            # With less than the called function takes its argument to be (cheat
            # wild_call_within_the_module).
            self.refusals.refuse("unguarded-call", "")
            return True
        name = graph.text(operator)
        if not all(map(graph.is_scalar_or_array, arguments)):
            return False
        if name in _POINTERS or type_of(graph, index).kind == "handle":
            self.refusals.refuse("unguarded-pointer", name)
        elif name in ("tirx.assume", "tirx.undef"):
            # LLVM takes an assumption for true, and each use of an undefined value for another one.
            self.refusals.refuse("unguarded-undefined", name)
        elif name == "prim.if_then_else":
            scalars = len(arguments) == 3 and all(map(graph.is_scalar_or_array, arguments))
            return (
                scalars
                and self._is_condition(arguments[0])
                and self._are_alike(index, *arguments[1:])
            )
        elif name == "prim.likely":
            return len(arguments) == 1 and self._are_alike(index, *arguments)
        elif name == "tirx.reinterpret":
            types = [type_of(graph, each) for each in arguments]
            own = type_of(graph, index)
            return [own.bits * own.lanes] == [each.bits * each.lanes for each in types]
        return True

    def _block(self, index: int) -> bool:
        graph = self.graph
        for key, value in graph.pairs(graph.field(index, "annotations")):
            if graph.text(key) == "buffer_dim_align":
                padding = _alignment_padding(graph, value)
                if padding is None:
                    self.refusals.refuse("unguarded-annotation", graph.text(key))
                else:
                    self.padding = max(self.padding, padding)
        return True
