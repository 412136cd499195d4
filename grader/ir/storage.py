"""Where buffers lie: that a buffer is as large as its extents say, and that it fits on the stack.

TVM computes an address from extents, strides, an offset and a layout, each of which a module may
write down as it likes, and allocates by the extents: with strides of (1, 100), an index within the
extents (4, 4) is 300 items away from the four that were allocated. So only dense buffers pass.
"""

from __future__ import annotations

from grader.ir.dtypes import item_type
from grader.ir.expressions import constant
from grader.ir.graph import Graph

SIZE_LIMIT = 2**30 - 1
"""Most bytes of an allocation: TVM multiplies its extents as int32, and 2**32 + 64 bytes are 64.
Where it makes vectors of the items, our builds allocate twice as much
(`grader.inside.runner.allocations`)."""

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
        if factor is None or offset is None or not 0 <= offset < factor <= ALIGNMENT_LIMIT:
            return None
        largest = max(largest, factor)
    return largest


def plain_integer(graph: Graph, index: int) -> int | None:
    """Return the value of an integer of an annotation, which is written in one of two ways."""
    if graph.type_of(index) == "int":
        value: int = graph.values[index]
        return value
    return constant(graph, index)


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
