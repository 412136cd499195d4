"""What no guard sees: layouts and sizes, addresses, expressions that are not what they say."""

from collections.abc import Callable

from grader.ir.expressions import (
    ARITHMETIC,
    DataType,
    constant,
    data_type,
    item_type,
    parse,
    plain_integer,
    type_of,
)
from grader.ir.facts import Reasons
from grader.ir.graph import Graph
from grader.ir.values import COMPARISONS

# --- where buffers lie ----------------------------------------------------------------------------
# Where buffers lie: that a buffer is as large as its extents say, and that it fits on the stack.
#
# TVM computes an address from extents, strides, an offset and a layout, each of which a module may
# write down as it likes, and allocates by the extents: with strides of (1, 100), an index within
# the extents (4, 4) is 300 items away from the four that were allocated. So only dense buffers
# pass.


SIZE_LIMIT = 2**30 - 1
"""Most bytes of an allocation: TVM multiplies its extents as int32, and 2**32 + 64 bytes are 64.
Where it makes vectors of the items, our builds allocate twice as much
(`grader.inside.common.allocations`)."""

STACK_LIMIT = 2**20
"""Most bytes that a function may keep on a stack, of at least 8 MB."""

ON_STACK = 1024
"""From this many bytes on, TVM takes an allocation from the heap."""

ALIGNMENT_LIMIT = 1024
"""Largest factor that a row of a buffer may be aligned to, in items."""

_STACK_SCOPES = ("", "global")


def is_dense(graph: Graph, buffer: int) -> bool:
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


def has_plain_layout(graph: Graph, buffer: int) -> bool:
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


def allocated_bytes(graph: Graph, buffer: int, padding: int = 0) -> int | None:
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


def stack_bytes(graph: Graph, buffer: int, copies: int) -> int:
    """Return how many bytes of the stack an allocation may take.

    A large one counts as well: TVM makes a buffer as small as what is used of it. A loop that is
    unrolled or vectorized has it `copies` times.
    """
    if graph.name(graph.field(buffer, "ty"), "storage_scope") not in _STACK_SCOPES:
        return 0
    size = allocated_bytes(graph, buffer)
    return copies * (ON_STACK if size is None else min(size, ON_STACK))


def alignment_padding(graph: Graph, annotation: int) -> int | None:
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


def unrolled_steps(graph: Graph, nodes: list[int]) -> int:
    """Return how many copies of a statement annotations ask TVM to make of loops, at least 1."""
    most = 1
    for index in nodes:
        kind = graph.type_of(index)
        if kind == "tirx.AttrStmt" and graph.name(index, "attr_key") in _UNROLL:
            most = max(most, plain_integer(graph, graph.field(index, "value")) or 0)
        elif kind in ("tirx.For", "s_tir.SBlock"):
            for key, value in graph.pairs(graph.field(index, "annotations")):
                if graph.text(key) in _UNROLL:
                    most = max(most, plain_integer(graph, value) or 0)
    return most


_UNROLL = ("pragma_auto_unroll_max_step",)


# --- expressions and annotations ------------------------------------------------------------------


_POINTERS = frozenset(
    {"tirx.buffer_data", "tirx.tvm_stack_make_array", "tirx.tvm_stack_make_shape"}
)
"""Intrinsics that are or take addresses. The last two also grow the stack at every call."""

_LOGIC = frozenset({"prim.And", "prim.Or"})


class Harmless:
    """Looks at the nodes of a function one by one, wherever they stand."""

    def __init__(self, graph: Graph, doubts: Reasons) -> None:
        self.graph = graph
        self.doubts = doubts
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
            elif kind in COMPARISONS or kind in _LOGIC:
                good = self._is_comparison(index, kind in _LOGIC)
            else:
                rule = self._rules.get(kind)
                good = rule is None or rule(index)
            if not good:
                self.doubts.refuse("unguarded-types", kind.rpartition(".")[2])

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
            self.doubts.refuse("unguarded-call", "")
            return True
        name = graph.text(operator)
        if not all(map(graph.is_scalar_or_array, arguments)):
            return False
        if name in _POINTERS or type_of(graph, index).kind == "handle":
            self.doubts.refuse("unguarded-pointer", name)
        elif name in ("tirx.assume", "tirx.undef"):
            # LLVM takes an assumption for true, and each use of an undefined value for another one.
            self.doubts.refuse("unguarded-undefined", name)
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
                padding = alignment_padding(graph, value)
                if padding is None:
                    self.doubts.refuse("unguarded-annotation", graph.text(key))
                else:
                    self.padding = max(self.padding, padding)
        return True
