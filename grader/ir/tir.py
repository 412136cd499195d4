"""Facts about PrimFuncs: their buffers, loops and blocks, in the order of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from grader.ir.consistency import LOOP_KINDS, pipeline_stages
from grader.ir.expressions import Budget, Names, constant, find_stride, find_uses, tensor_facts
from grader.ir.facts import Block, BufferFacts, FunctionFacts, Loop, Store, TensorFacts
from grader.ir.formulas import Formulas
from grader.ir.graph import Graph

_ITERATOR_LETTERS = {0: "S", 2: "R"}
_LITERALS = ("ir.IntImm", "ir.FloatImm")


def read_function(graph: Graph, name: str, function: int, budget: Budget) -> FunctionFacts:
    """Return the facts of a PrimFunc. Raises IRError when it is too large to be read."""
    return _Reader(graph, budget).read(name, function)


class _Place(NamedTuple):
    """A statement to be read, and the loops (from the outside) and the block around it.

    `variables` are those of the loops.
    """

    statement: int
    loops: tuple[Loop, ...] = ()
    variables: tuple[int, ...] = ()
    block: int | None = None
    in_init: bool = False


@dataclass
class _OpenBlock:
    """A block that is still being read.

    `loads` are buffers in the order of their first use, `stores` `stores` all stores; `copies` and
    `constants` count those of them that hand a value on unchanged, or depend on nothing.
    """

    node: int
    loops: tuple[Loop, ...]
    parent: int | None
    predicated: bool
    loads: dict[int, None] = field(default_factory=dict)
    stores: list[Store] = field(default_factory=list)
    initial: list[Store] = field(default_factory=list)
    copies: int = 0
    constants: int = 0


class _Reader:
    def __init__(self, graph: Graph, budget: Budget) -> None:
        self.graph = graph
        self.budget = budget
        self.blocks: list[_OpenBlock] = []
        self.allocations: list[int] = []
        self.root: int | None = None
        self.idle = True
        self.names = Names({}, {}, {})
        self.labels: dict[int, str] = {}
        self.counts: Counter[str] = Counter()
        self.bound: dict[int, int] = {}
        self.formulas = Formulas(graph, lambda each: self.label(self.names.whole(each)), self.bound)

    def read(self, name: str, function: int) -> FunctionFacts:
        """Return the facts of the PrimFunc at a node. Raises IRError where it is too large."""
        graph = self.graph
        body = graph.field(function, "body")
        self.root = body if self.is_root(body) else None
        self.budget.spend(len(graph.list(function, "params")))
        parameters = tuple(self.buffer(item) for item in graph.list(function, "params"))
        pending = [_Place(body)]
        while pending:
            place = pending.pop()
            self.budget.spend(1 + len(place.loops))
            pending.extend(reversed(list(self.statement(place))))
        return FunctionFacts(
            name=name,
            parameters=parameters,
            allocations=tuple(self.buffer(item) for item in self.allocations),
            blocks=tuple(self.block(block) for block in self.blocks),
            idle=self.idle,
        )

    def is_root(self, statement: int) -> bool:
        """Say whether a function's body is the block that TVM puts around everything."""
        graph = self.graph
        return graph.type_of(statement) == "s_tir.SBlockRealize" and not graph.list(
            statement, "iter_values"
        )

    def statement(self, place: _Place) -> Iterator[_Place]:
        """Take down one statement and return those inside it, in order."""
        graph, index = self.graph, place.statement
        kind = graph.type_of(index)
        if kind == "s_tir.SBlockRealize":
            yield from self.open_block(place)
        elif kind == "tirx.For":
            loop = self.loop(index)
            yield place._replace(
                statement=graph.field(index, "body"),
                loops=(*place.loops, loop),
                variables=(*place.variables, graph.field(index, "loop_var")),
            )
        elif kind == "tirx.SeqStmt":
            for item in graph.list(index, "seq"):
                yield place._replace(statement=item)
        elif kind == "tirx.IfThenElse":
            yield place._replace(statement=graph.field(index, "then_case"))
            otherwise = graph.optional(index, "else_case")
            if otherwise is not None:
                yield place._replace(statement=otherwise)
        elif kind in ("tirx.AttrStmt", "tirx.While"):
            yield place._replace(statement=graph.field(index, "body"))
        elif kind == "tirx.AllocBuffer":
            self.allocate([graph.field(index, "buffer")])
        else:
            self.leaf(kind, place)

    def open_block(self, place: _Place) -> Iterator[_Place]:
        """Take down a block, and return its init and its body."""
        graph, index = self.graph, place.statement
        node = graph.field(index, "block")
        number = place.block
        if index != self.root:
            predicate = constant(graph, graph.field(index, "predicate"))
            self.blocks.append(_OpenBlock(node, place.loops, place.block, predicate != 1))
            number = len(self.blocks) - 1
        self.bind_iterators(index, node)
        self.match_buffers(node)
        self.allocate(graph.list(node, "alloc_buffers"))
        init = graph.optional(node, "init")
        if init is not None:
            yield place._replace(statement=init, block=number, in_init=True)
        body = graph.field(node, "body")
        yield place._replace(statement=body, block=number, in_init=False)

    def bind_iterators(self, realize: int, block: int) -> None:
        graph = self.graph
        iterators, values = graph.list(block, "iter_vars"), graph.list(realize, "iter_values")
        self.budget.spend(len(iterators))
        for iterator, value in zip(iterators, values, strict=True):
            self.names.values[graph.field(iterator, "var")] = value

    def match_buffers(self, block: int) -> None:
        graph = self.graph
        matches = graph.list(block, "match_buffers")
        self.budget.spend(len(matches))
        for match in matches:
            region = graph.field(match, "source")
            place = [graph.field(each, "min") for each in graph.list(region, "region")]
            self.budget.spend(len(place))
            self.names.match(graph.field(match, "buffer"), graph.field(region, "source"), place)

    def allocate(self, buffers: list[int]) -> None:
        self.budget.spend(len(buffers))
        self.allocations.extend(buffers)

    def leaf(self, kind: str, place: _Place) -> None:
        """Take down a statement without statements in it: what it loads, what it stores."""
        if kind != "tirx.Evaluate" or self.is_call(place.statement):
            self.idle = False
        if place.block is None:
            return
        graph, index, block = self.graph, place.statement, self.blocks[place.block]
        if place.in_init:
            if kind == "tirx.BufferStore":
                block.initial.append(self.store(index, place))
            return
        if kind == "tirx.Bind":
            self.bound[graph.field(index, "var")] = graph.field(index, "value")
            self.names.values[graph.field(index, "var")] = graph.field(index, "value")
        if kind in ("tirx.Bind", "tirx.Evaluate"):
            loads = self.scan(graph.field(index, "value")).loads
            block.loads.update(dict.fromkeys(map(self.names.whole, loads)))
        if kind == "tirx.BufferStore":
            value = graph.field(index, "value")
            scan = self.scan(value)
            block.loads.update(dict.fromkeys(map(self.names.whole, scan.loads)))
            block.stores.append(self.store(index, place))
            block.copies += self.is_copy(value)
            block.constants += not scan.loads and not scan.variables

    def is_call(self, statement: int) -> bool:
        """Say whether a statement evaluates more than the number that stands for `pass`."""
        return self.graph.type_of(self.graph.field(statement, "value")) == "ir.Call"

    def store(self, index: int, place: _Place) -> Store:
        graph = self.graph
        buffer, indices = graph.field(index, "buffer"), graph.list(index, "indices")
        places = self.names.places.get(buffer, ())
        values = [*indices, *places, graph.field(index, "value")]
        uses = find_uses(graph, values, self.names, self.budget)
        around = [
            (loop, variable)
            for loop, variable in zip(place.loops, place.variables, strict=True)
            if variable in uses.variables
        ]
        axes = self.axes(buffer, indices)
        self.budget.spend(len(around) * len(axes))
        return Store(
            buffer=self.label(self.names.whole(buffer)),
            loads=tuple(self.label(each) for each in uses.loads),
            loops=tuple(loop for loop, _ in around),
            axes=tuple(
                tuple(axis for axis, used in enumerate(axes) if variable in used)
                for _, variable in around
            ),
            lane_stride=self.lane_stride((buffer, indices), around, place),
            value=self.formulas.of(graph.field(index, "value")),
            index=tuple(map(self.formulas.of, indices)),
        )

    def axes(self, buffer: int, indices: list[int]) -> list[set[int]]:
        """Return the variables by which a store finds its place, for each axis of its buffer.

        The axes of a part are the last ones of its whole.
        """
        places = self.names.places.get(buffer, ())
        groups = [[each] for each in places] if places else [[each] for each in indices]
        if places:
            for group, index in zip(reversed(groups), reversed(indices), strict=False):
                group.append(index)
        return [
            set(find_uses(self.graph, group, self.names, self.budget).variables) for group in groups
        ]

    def lane_stride(
        self, access: tuple[int, list[int]], around: list[tuple[Loop, int]], place: _Place
    ) -> int | None:
        """Return how far apart the lanes of the innermost vectorized loop store."""
        lanes = [
            variable for loop, variable in around if loop.kind == "vectorized" and loop.extent != 1
        ]
        if not lanes or access[0] in self.names.places:
            return None
        self.budget.spend(len(place.loops))
        extents = {
            variable: loop.extent
            for loop, variable in zip(place.loops, place.variables, strict=True)
        }
        return find_stride(self.graph, access, lanes[-1], extents, self.names.values, self.budget)

    def scan(self, expression: int) -> _Scan:
        """Return what an expression loads and whether it depends on variables."""
        graph = self.graph
        result = _Scan([], False)

        def following(index: int) -> list[int]:
            kind = graph.type_of(index)
            if kind == "ir.TensorLoad":
                return graph.list(index, "indices")
            if kind == "ir.Var":
                return []
            return [c for c in graph.children[index] if graph.is_scalar_or_array(c)]

        for index in self.budget.walk((expression,), following):
            if graph.type_of(index) == "ir.TensorLoad":
                result.loads.append(graph.field(index, "source"))
            elif graph.type_of(index) == "ir.Var":
                result.variables = True
        return result

    def is_copy(self, value: int) -> bool:
        """Say whether a value is another buffer's, or under a condition a literal."""
        graph = self.graph
        loads, seen, pending = 0, {value}, [value]
        while pending:
            self.budget.spend()
            index = pending.pop()
            kind = graph.type_of(index)
            if kind == "ir.TensorLoad":
                loads += 1
                continue
            branches = _branches(graph, index)
            if branches is None:
                return False
            new = [branch for branch in branches if branch not in seen]
            seen.update(new)
            pending.extend(new)
        return loads > 0

    # --- facts ------------------------------------------------------------------------------------

    def loop(self, index: int) -> Loop:
        graph = self.graph
        return Loop(
            variable=graph.name(graph.field(index, "loop_var")),
            extent=constant(graph, graph.field(index, "extent")),
            kind=LOOP_KINDS[graph.field(index, "kind")],
            stages=pipeline_stages(graph, index),
        )

    def buffer(self, variable: int) -> BufferFacts:
        """Return the facts of a parameter or an allocation; a scalar has shape ()."""
        facts = tensor_facts(self.graph, self.graph.field(variable, "ty"))
        return BufferFacts(
            name=self.label(variable), tensor=facts or TensorFacts(shape=None, dtype="")
        )

    def block(self, opened: _OpenBlock) -> Block:
        graph, node = self.graph, opened.node
        letters = (
            _ITERATOR_LETTERS.get(graph.field(item, "iter_type"), "O")
            for item in graph.list(node, "iter_vars")
        )
        return Block(
            name=graph.name(node, "name_hint"),
            iterators="".join(letters),
            has_init=graph.optional(node, "init") is not None,
            loops=opened.loops,
            loads=tuple(self.label(item) for item in opened.loads),
            stores=tuple(dict.fromkeys(store.buffer for store in opened.stores)),
            is_constant_store=0 < len(opened.stores) == opened.constants,
            # A choice between two buffers hands values on as well, and is no padding.
            is_copy=0 < len(opened.stores) == opened.copies and len(opened.loads) == 1,
            predicated=opened.predicated,
            parts=self.parts(node),
            parent=opened.parent,
            statements=tuple(opened.stores),
            initial=tuple(opened.initial),
            extents=tuple(self.extent_of(item) for item in graph.list(node, "iter_vars")),
        )

    def extent_of(self, iterator: int) -> tuple[str, int | None]:
        """Return the name of a block's iterator, and its extent where that is known."""
        graph, domain = self.graph, self.graph.optional(iterator, "dom")
        name = graph.name(graph.field(iterator, "var"))
        if domain is None or constant(graph, graph.field(domain, "min")) != 0:
            return name, None
        return name, constant(graph, graph.field(domain, "extent"))

    def parts(self, node: int) -> tuple[str, ...]:
        """Return the names of the buffers of which a block gives a part a name, each once."""
        matches = self.graph.list(node, "match_buffers")
        wholes = (self.names.whole(self.graph.field(each, "buffer")) for each in matches)
        return tuple(dict.fromkeys(map(self.label, wholes)))

    def label(self, buffer: int) -> str:
        """Return a buffer's name, with a number where an earlier one of the function has it too.

        No name has the mark before the number.
        """
        if buffer not in self.labels:
            name = self.graph.name(buffer)
            count = self.counts[name]
            self.counts[name] += 1
            self.labels[buffer] = f"{name}'{count}" if count else name
        return self.labels[buffer]


@dataclass
class _Scan:
    """The buffers that an expression loads, and whether it depends on a variable."""

    loads: list[int]
    variables: bool


def _branches(graph: Graph, index: int) -> list[int] | None:
    """Return the values that an expression hands on unchanged; None if it computes."""
    kind = graph.type_of(index)
    if kind in _LITERALS:
        return []
    if kind == "prim.Select":
        return [graph.field(index, "true_value"), graph.field(index, "false_value")]
    if kind == "ir.Call":
        operator = graph.field(index, "op")
        if graph.type_of(operator) == "ir.Op" and graph.text(operator) == "prim.if_then_else":
            return graph.list(index, "args")[1:]
    return None
