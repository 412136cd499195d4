"""Where the batch is in a PrimFunc: its axis, followed through loops, iterators and buffers.

It is plain in a function as TE makes it: an iterator of a block is bound to its own loop, and
indexes the buffers. Anything else is refused: a batch that is mixed into an expression, tiled or
fused, shared between buffers in different places, or that does not reach the output.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from grader.errors import Told
from grader.ir.expressions import Budget, constant, is_buffer
from grader.ir.graph import Graph
from grader.language import say

_SPATIAL = 0


class NotPlainError(Told):
    """Raised where it is not plain what the batch is; the message is a clause that says why."""


class _Access(NamedTuple):
    """A place where a buffer is indexed: `owner` is a load, a store or a region.

    `indices` has, for each axis, the node that is the index; None where the region is longer than
    one element.
    """

    owner: int
    field: str
    buffer: int
    indices: list[int | None]


class Replacement(NamedTuple):
    """What is written in place of a node: a copy of `node`, with other children.

    `children` maps fields, or places in an array, to changes. With none of them it stands for the
    batch (`is_batch`) or for zero, as a number of the same type as the number `node`.
    """

    node: int
    children: dict[Any, Replacement]
    is_batch: bool = False


Changes = dict[int, dict[str, Replacement]]
"""By node and field: what is written in place of the child."""


def find_batch_axis(graph: Graph, function: int, data: int) -> Changes:
    """Return what changes in a PrimFunc with the batch, which is the first axis of a parameter.

    Raises NotPlainError, or IRError where the function is too large to be read.
    """
    return _BatchAxis(graph, function).find(data)


class _BatchAxis:
    """Follows the batch through one PrimFunc."""

    def __init__(self, graph: Graph, function: int) -> None:
        self.graph = graph
        self.function = function
        self.budget = Budget()
        self.loops: dict[int, int] = {}
        self.iterators: dict[int, tuple[int, int]] = {}
        self.bound: defaultdict[int, list[int]] = defaultdict(list)
        self.accesses: defaultdict[int, list[_Access]] = defaultdict(list)
        self.indexed: defaultdict[int, list[tuple[_Access, int]]] = defaultdict(list)
        self.entangled: set[int] = set()
        self.scanned: set[int] = set()
        self.own: set[int] = set()
        self.axes: dict[int, int] = {}
        self.followed: set[int] = set()
        self.changes: Changes = defaultdict(dict)
        self.pending: list[int] = []
        self.size = 0

    def find(self, data: int) -> Changes:
        """Return what changes with the batch. Raises NotPlainError."""
        graph = self.graph
        parameters = graph.list(self.function, "params")
        if not 0 <= data < len(parameters) - 1 or not all(is_buffer(graph, p) for p in parameters):
            raise NotPlainError(say("arguments-not-only-data-and-arrays"))
        self.read(graph.field(self.function, "body"))
        source, output = parameters[data], parameters[-1]
        self.own |= {source, output}
        size = constant(graph, self.shape(source)[0]) if self.shape(source) else None
        if size is None:
            raise NotPlainError(say("batch-not-number"))
        self.size = size
        self.follow_axis(source, 0)
        while self.pending:
            self.follow_variable(self.pending.pop())
        # The referee compares outputs image by image, along the first axis.
        if self.axes.get(output) != 0:
            raise NotPlainError(say("batch-output-another-one"))
        return self.changes

    # --- reading ----------------------------------------------------------------------------------

    def read(self, body: int) -> None:
        """Take down loops, blocks and accesses. Raises NotPlainError at any other statement."""
        pending = [body]
        while pending:
            self.budget.spend()
            pending.extend(self.statement(pending.pop()))

    def statement(self, index: int) -> list[int]:
        """Take down one statement, and return those inside it."""
        graph, kind = self.graph, self.graph.type_of(index)
        if kind == "s_tir.SBlockRealize":
            return self.block(index)
        if kind == "tirx.For":
            return self.loop(index)
        if kind == "tirx.SeqStmt":
            return graph.list(index, "seq")
        if kind == "tirx.BufferStore":
            indices: list[int | None] = [*graph.list(index, "indices")]
            self.access(_Access(index, "indices", graph.field(index, "buffer"), indices))
            self.scan(graph.field(index, "value"))
            return []
        raise NotPlainError(say("has-other-statements-than-loops-blocks"))

    def loop(self, index: int) -> list[int]:
        graph = self.graph
        variable = graph.field(index, "loop_var")
        if variable in self.loops or graph.optional(index, "step") is not None:
            raise NotPlainError(say("loops-have-unusual-form"))
        self.loops[variable] = index
        self.scan(graph.field(index, "min"))
        self.scan(graph.field(index, "extent"))
        return [graph.field(index, "body")]

    def block(self, realize: int) -> list[int]:
        graph, block = self.graph, self.graph.field(realize, "block")
        # A part has an axis for the batch of its own, which would have to change with the whole's.
        if graph.list(block, "match_buffers"):
            raise NotPlainError(say("blocks-work-on-parts-buffers"))
        self.scan(graph.field(realize, "predicate"))
        values = graph.list(realize, "iter_values")
        self.budget.spend(len(values) + len(graph.list(block, "alloc_buffers")))
        for iterator, value in zip(graph.list(block, "iter_vars"), values, strict=True):
            self.bind(iterator, value)
        for region in [*graph.list(block, "reads"), *graph.list(block, "writes")]:
            self.region(region)
        self.own.update(graph.list(block, "alloc_buffers"))
        init = graph.optional(block, "init")
        return [graph.field(block, "body"), *([] if init is None else [init])]

    def bind(self, iterator: int, value: int) -> None:
        """Take down what a block's iterator stands for."""
        variable = self.graph.field(iterator, "var")
        if variable in self.iterators:
            raise NotPlainError(say("blocks-share-iterator"))
        self.iterators[variable] = (iterator, value)
        if self.graph.type_of(value) == "ir.Var":
            self.bound[value].append(variable)
        else:
            self.scan(value)

    def region(self, region: int) -> None:
        """Take down what a block says that it reads or writes."""
        graph = self.graph
        indices: list[int | None] = []
        for item in graph.list(region, "region"):
            is_one = constant(graph, graph.field(item, "extent")) == 1
            indices.append(graph.field(item, "min") if is_one else None)
            if not is_one:
                self.scan(graph.field(item, "min"))
                self.scan(graph.field(item, "extent"))
        self.access(_Access(region, "region", graph.field(region, "source"), indices))

    def access(self, access: _Access) -> None:
        for index in self.note(access):
            self.scan(index)

    def note(self, access: _Access) -> list[int]:
        """Take down an access, and return its indices that are more than a variable."""
        self.budget.spend(len(access.indices))
        self.accesses[access.buffer].append(access)
        others = []
        for axis, index in enumerate(access.indices):
            if index is not None and self.graph.type_of(index) == "ir.Var":
                self.indexed[index].append((access, axis))
            elif index is not None:
                others.append(index)
        return others

    def scan(self, expression: int) -> None:
        """Take down what an expression loads; a variable that stands in it is entangled."""
        graph, pending = self.graph, [expression]
        while pending:
            index = pending.pop()
            self.budget.spend(1 + len(graph.children[index]))
            if index in self.scanned:
                continue
            self.scanned.add(index)
            kind = graph.type_of(index)
            if kind == "ir.Var":
                self.entangled.add(index)
            elif kind == "ir.TensorLoad":
                indices: list[int | None] = [*graph.list(index, "indices")]
                load = _Access(index, "indices", graph.field(index, "source"), indices)
                pending.extend(self.note(load))
            else:
                pending.extend(c for c in graph.children[index] if graph.is_scalar_or_array(c))

    # --- following --------------------------------------------------------------------------------

    def follow_axis(self, buffer: int, axis: int) -> None:
        """Take down that an axis of a buffer is the batch; what indexes it is to be followed."""
        if self.axes.get(buffer) == axis:
            return
        kind = self.graph.field(buffer, "ty")
        extents = self.shape(buffer)
        # The batch on two axes of one buffer, or on a part of one: which items belong to which
        # image is not plain.
        if buffer in self.axes or constant(self.graph, extents[axis]) != self.size:
            raise NotPlainError(say("axis-batch-or-part", buffer=self.spell(buffer)))
        # Strides count the items of a row of images, of which there would be more.
        if self.graph.list(kind, "strides"):
            raise NotPlainError(say("elements-not-side-by-side", buffer=self.spell(buffer)))
        self.axes[buffer] = axis
        shape = Replacement(self.graph.field(kind, "shape"), {axis: self.batch(extents[axis])})
        self.changes[buffer]["ty"] = Replacement(kind, {"shape": shape})
        for access in self.accesses[buffer]:
            index = access.indices[axis]
            if index is None or self.graph.type_of(index) != "ir.Var":
                raise NotPlainError(
                    say("not-indexed-by-batchs-own-loop", buffer=self.spell(buffer))
                )
            self.pending.append(index)

    def follow_variable(self, variable: int) -> None:
        """Take down that a variable counts the batch, and follow where it is used."""
        if variable in self.followed:
            return
        self.followed.add(variable)
        # A batch that is computed with: images turned round (`3 - n`), shifted, or mixed with
        # another axis have no place that is theirs for any batch.
        if variable in self.entangled:
            raise NotPlainError(say("batch-part-expression", variable=self.spell(variable)))
        if variable in self.iterators:
            self.follow_iterator(*self.iterators[variable])
        elif variable in self.loops:
            self.change_range(self.loops[variable], self.loops[variable], "extent")
        else:
            raise NotPlainError(say("not-loop", variable=self.spell(variable)))
        self.pending.extend(self.bound[variable])
        for access, axis in self.indexed[variable]:
            self.follow_access(access, axis)

    def follow_iterator(self, iterator: int, value: int) -> None:
        """Change an iterator's domain, and follow the loop that it is bound to."""
        graph = self.graph
        # Summed up, images do not stay apart; and after a fuse or a split the batch is a part of a
        # loop.
        if graph.field(iterator, "iter_type") != _SPATIAL or graph.type_of(value) != "ir.Var":
            raise NotPlainError(say("batch-not-axis-own-in-block"))
        domain = graph.field(iterator, "dom")
        self.change_range(domain, iterator, "dom")
        self.pending.append(value)

    def change_range(self, node: int, owner: int, field: str) -> None:
        extent = self.graph.field(node, "extent")
        low = constant(self.graph, self.graph.field(node, "min"))
        # A loop over images 1 to 3 of 4 says nothing of which images of 16 it should be over.
        if low != 0 or constant(self.graph, extent) != self.size:
            raise NotPlainError(say("loop-goes-over-part-batch"))
        new = self.batch(extent)
        self.changes[owner][field] = new if node == owner else Replacement(node, {"extent": new})

    def follow_access(self, access: _Access, axis: int) -> None:
        """Follow the batch to a buffer that it indexes.

        An argument with one element there (a bias, beside a batch of one) keeps it for all images.
        """
        if access.buffer in self.own:
            self.follow_axis(access.buffer, axis)
            return
        # An array with a row for each image has none for more images.
        if constant(self.graph, self.shape(access.buffer)[axis]) != 1:
            raise NotPlainError(say("indexed-by-batch", buffer=self.spell(access.buffer)))
        self.pin(access, axis)

    def pin(self, access: _Access, axis: int) -> None:
        """Write zero in place of the index of an axis that has one item for all images."""
        graph = self.graph
        items = graph.list(access.owner, access.field)
        zero = Replacement(self.shape(access.buffer)[axis], {})
        old = self.changes[access.owner].get(access.field)
        children = {} if old is None else old.children
        children[axis] = (
            zero if access.field == "indices" else Replacement(items[axis], {"min": zero})
        )
        list_node = graph.field(access.owner, access.field)
        self.changes[access.owner][access.field] = Replacement(list_node, children)

    def batch(self, node: int) -> Replacement:
        return Replacement(node, {}, is_batch=True)

    def shape(self, buffer: int) -> list[int]:
        return self.graph.list(self.graph.field(buffer, "ty"), "shape")

    def spell(self, variable: int) -> str:
        return f"`{self.graph.name(variable)}`"
