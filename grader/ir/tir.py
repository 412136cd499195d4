"""Facts about PrimFuncs: their buffers, loops and blocks, in the order of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from grader.ir.consistency import LOOP_KINDS
from grader.ir.expressions import Budget, constant, tensor_facts
from grader.ir.facts import Block, BufferFacts, FunctionFacts, Loop, TensorFacts
from grader.ir.graph import Graph

_ITERATOR_LETTERS = {0: "S", 2: "R"}
_LITERALS = ("ir.IntImm", "ir.FloatImm")


def read_function(graph: Graph, name: str, function: int, budget: Budget) -> FunctionFacts:
    """Return the facts of a PrimFunc. Raises IRError when it is too large to be read."""
    return _Reader(graph, budget).read(name, function)


class _Place(NamedTuple):
    """A statement to be read, and the loops (from the outside) and the block around it."""

    statement: int
    loops: tuple[Loop, ...]
    block: int | None
    in_init: bool


@dataclass
class _OpenBlock:
    """A block that is still being read.

    `loads` are buffers in the order of their first use, `stores` names; `stored` counts its stores,
    `copies` and `constants` those of them that hand a value on unchanged, or depend on nothing.
    """

    node: int
    loops: tuple[Loop, ...]
    parent: int | None
    predicated: bool
    allocations: list[int] = field(default_factory=list)
    loads: dict[int, None] = field(default_factory=dict)
    stores: dict[str, None] = field(default_factory=dict)
    stored: int = 0
    copies: int = 0
    constants: int = 0


class _Reader:
    def __init__(self, graph: Graph, budget: Budget) -> None:
        self.graph = graph
        self.budget = budget
        self.blocks: list[_OpenBlock] = []
        self.loops: list[Loop] = []
        self.allocations: list[int] = []
        self.root: int | None = None

    def read(self, name: str, function: int) -> FunctionFacts:
        """Read the whole function."""
        graph = self.graph
        body = graph.field(function, "body")
        self.root = body if self.is_root(body) else None
        self.budget.spend(len(graph.list(function, "params")))
        pending = [_Place(body, (), None, False)]
        while pending:
            place = pending.pop()
            self.budget.spend(1 + len(place.loops))
            pending.extend(reversed(list(self.statement(place))))
        return FunctionFacts(
            name=name,
            parameters=tuple(self.buffer(item) for item in graph.list(function, "params")),
            allocations=tuple(self.buffer(item) for item in self.allocations),
            blocks=tuple(self.block(block) for block in self.blocks),
            loops=tuple(self.loops),
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
            self.loops.append(loop)
            yield place._replace(statement=graph.field(index, "body"), loops=(*place.loops, loop))
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
            self.allocate([graph.field(index, "buffer")], place.block)
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
        self.budget.spend(len(graph.list(node, "iter_vars")))
        self.allocate(graph.list(node, "alloc_buffers"), number)
        init = graph.optional(node, "init")
        if init is not None:
            yield _Place(init, place.loops, number, True)
        yield _Place(graph.field(node, "body"), place.loops, number, False)

    def allocate(self, buffers: list[int], block: int | None) -> None:
        """Take down allocations, of the function and of the block they are in."""
        self.budget.spend(len(buffers))
        self.allocations.extend(buffers)
        if block is not None:
            self.blocks[block].allocations.extend(buffers)

    def leaf(self, kind: str, place: _Place) -> None:
        """Take down a statement without statements in it: what it loads, what it stores."""
        if place.block is None or place.in_init:
            return
        graph, index, block = self.graph, place.statement, self.blocks[place.block]
        if kind in ("tirx.Bind", "tirx.Evaluate"):
            block.loads.update(dict.fromkeys(self.scan(graph.field(index, "value")).loads))
        if kind == "tirx.BufferStore":
            value = graph.field(index, "value")
            scan = self.scan(value)
            block.loads.update(dict.fromkeys(scan.loads))
            block.stores[graph.name(graph.field(index, "buffer"))] = None
            block.stored += 1
            block.copies += self.is_copy(value)
            block.constants += not scan.loads and not scan.variables

    def scan(self, expression: int) -> _Scan:
        """Return what an expression loads and whether it depends on variables."""
        graph = self.graph
        result = _Scan([], False)
        seen, pending = {expression}, [expression]
        while pending:
            self.budget.spend()
            index = pending.pop()
            kind = graph.type_of(index)
            if kind == "ir.TensorLoad":
                result.loads.append(graph.field(index, "source"))
                children = graph.list(index, "indices")
            elif kind == "ir.Var":
                result.variables = True
                continue
            else:
                children = [c for c in graph.children[index] if graph.is_scalar_or_array(c)]
            self.budget.spend(len(children))
            for child in reversed(children):
                if child not in seen:
                    seen.add(child)
                    pending.append(child)
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
        """Return the facts of one loop."""
        graph = self.graph
        return Loop(
            variable=graph.name(graph.field(index, "loop_var")),
            extent=constant(graph, graph.field(index, "extent")),
            kind=LOOP_KINDS[graph.field(index, "kind")],
        )

    def buffer(self, variable: int) -> BufferFacts:
        """Return the facts of a parameter or an allocation; a scalar has shape ()."""
        facts = tensor_facts(self.graph, self.graph.field(variable, "ty"))
        return BufferFacts(
            name=self.graph.name(variable), tensor=facts or TensorFacts(shape=None, dtype="")
        )

    def block(self, opened: _OpenBlock) -> Block:
        """Return the facts of a block that has been read."""
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
            reads=self.regions(node, "reads"),
            writes=self.regions(node, "writes"),
            loads=tuple(graph.name(item) for item in opened.loads),
            stores=tuple(opened.stores),
            is_constant_store=0 < opened.stored == opened.constants,
            is_copy=0 < opened.stored == opened.copies and len(opened.loads) == 1,
            predicated=opened.predicated,
            allocations=tuple(self.buffer(item) for item in opened.allocations),
            parent=opened.parent,
        )

    def regions(self, node: int, name: str) -> tuple[str, ...]:
        """Return the names of the buffers that a block says it reads or writes, each once."""
        graph = self.graph
        regions = graph.list(node, name)
        self.budget.spend(len(regions))
        return tuple(dict.fromkeys(graph.name(graph.field(item, "source")) for item in regions))


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
