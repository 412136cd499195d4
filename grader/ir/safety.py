"""Whether a function surely stays inside its buffers: a proof, or why there is none.

Every statement is walked in the order of the program, with what is known there of its loops and
conditions; every index of every load and store must be shown to lie within its extents, and every
number on the way there to fit its type. Unknown means not proven. It costs no more than its budget:
a function that is too long to be looked through is not proven.

Not proven is no fault: a guard looks at such a function while it runs (`unproven`). What a guard
would not see is another matter (`unguarded`): that is never timed.
"""

import math
from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

from grader.errors import IRError
from grader.ir.consistency import pipeline_stages
from grader.ir.expressions import Budget, constant, is_buffer, item_type, plain_integer, type_of
from grader.ir.facts import Reasons
from grader.ir.graph import Graph
from grader.ir.linear import Knowledge, LinearForm, add, number
from grader.ir.unguarded import (
    SIZE_LIMIT,
    STACK_LIMIT,
    Harmless,
    allocated_bytes,
    has_plain_layout,
    is_dense,
    stack_bytes,
    unrolled_steps,
)
from grader.ir.values import Expressions

WORK_LIMIT = 1_000_000
"""Most steps of looking through the functions of one module."""

NESTING_LIMIT = 60
"""Most statements around a statement; the reader recurses."""

MOST_EXTENT = 2**31 - 1
"""Largest extent that a variable of a parameter's shape stands for: no array is longer."""

_BELIEVED = {"explicit_read_region": "reads", "explicit_write_region": "writes"}
"""Annotations by which TVM believes what a block declares, and where it does."""

_COPYING_LOOPS = (2, 3)
"""Kinds of loops whose body TVM writes out for each round: vectorized and unrolled."""


class _Span(NamedTuple):
    """A part of an axis."""

    low: LinearForm
    extent: LinearForm


class _Copies(NamedTuple):
    """A loop that TVM writes out, and how many rounds it has."""

    loop: int
    rounds: int


def find_safety(graph: Graph, name: str, function: int, budget: Budget) -> Reasons:
    """Return why a PrimFunc is not proven; it is looked through as long as `budget` lasts."""
    reader = _Function(graph, name, budget)
    try:
        reader.read(function)
    except IRError:
        # What was not reached may hold what no guard sees.
        reader.reasons.refuse("unguarded-length", "")
    return reader.reasons


class _Function:
    def __init__(self, graph: Graph, name: str, budget: Budget) -> None:
        self.graph = graph
        self.budget = budget
        self.reasons = Reasons(name)
        self.knowledge = Knowledge(self.budget)
        self.indices = Expressions(graph, self.knowledge, self.reasons, self.budget, self.load)
        self.harmless = Harmless(graph, self.reasons)
        self.buffers: dict[int, list[LinearForm]] = {}
        self.allocated: dict[int, tuple[_Copies, ...] | None] = {}
        self.regions: dict[int, list[_Span]] = {}
        self.copies: tuple[_Copies, ...] = ()
        self.moved = 0
        self.depth = 0
        self.rules: dict[str, Callable[[int], None]] = {
            "s_tir.SBlockRealize": self._block,
            "tirx.AllocBuffer": lambda index: self._allocate(graph.field(index, "buffer")),
            "tirx.AssertStmt": lambda index: self.indices.visit(graph.field(index, "condition")),
            "tirx.AttrStmt": lambda index: self._within(graph.field(index, "body")),
            "tirx.Bind": self._bind,
            "tirx.BufferStore": self._store,
            "tirx.Evaluate": lambda index: self.indices.visit(graph.field(index, "value")),
            "tirx.For": self._loop,
            "tirx.IfThenElse": self._choice,
            "tirx.SeqStmt": self._sequence,
        }

    # --- the function -----------------------------------------------------------------------------

    def read(self, function: int) -> None:
        """Look through the whole function. Raises IRError where the budget is spent."""
        graph = self.graph
        nodes = self._nodes(function)
        self.harmless.look(nodes)
        if self.reasons.unguarded is not None:
            return  # the rest is only read of expressions that are what they say
        parameters = graph.list(function, "params")
        self.budget.spend(len(parameters))
        for parameter in parameters:
            self._define_extents(parameter)
        for parameter in parameters:
            if is_buffer(graph, parameter):
                self._declare(parameter, dense=True)
        self.statement(graph.field(function, "body"))
        steps = unrolled_steps(graph, nodes)
        sizes = (
            stack_bytes(graph, buffer, steps * math.prod(each.rounds for each in copies or ()))
            for buffer, copies in self.allocated.items()
        )
        if sum(sizes) > STACK_LIMIT:
            self.reasons.doubt("unproven-stack", "")

    def _nodes(self, function: int) -> list[int]:
        """Return all nodes that the function's body and parameters refer to."""
        graph = self.graph
        roots = {graph.field(function, "body"), *graph.list(function, "params")}
        return sorted(self.budget.walk(roots, graph.children.__getitem__))

    def _define_extents(self, parameter: int) -> None:
        """Let the variables of a parameter's shape, or a number, stand for what the caller gives.

        They are bound by the array that is given, which has no negative extent and is no longer
        than memory.
        """
        graph = self.graph
        if not is_buffer(graph, parameter):
            if type_of(graph, parameter).numbers is None:
                self.reasons.refuse("unguarded-pointer", graph.name(parameter))
            self.indices.define(parameter, self.indices.anything(parameter))
            return
        for item in graph.list(graph.field(parameter, "ty"), "shape"):
            if graph.type_of(item) == "ir.Var" and item not in self.indices.values:
                # As an int8, an extent of 200 is negative: TVM casts it.
                numbers = type_of(graph, item).numbers
                fits = numbers is not None and numbers.high >= MOST_EXTENT
                known = self.knowledge.unknown(0, MOST_EXTENT)
                self.indices.define(item, known if fits else self.indices.anything(item))

    def _declare(self, buffer: int, *, dense: bool) -> None:
        """Let a buffer be used until the end of the scope."""
        graph = self.graph
        if buffer in self.buffers:
            self.reasons.refuse("unguarded-scope", graph.name(buffer))
        if not has_plain_layout(graph, buffer) or (dense and not is_dense(graph, buffer)):
            self.reasons.refuse("unguarded-layout", graph.name(buffer))
        shape = graph.list(graph.field(buffer, "ty"), "shape")
        self.knowledge.put(self.buffers, buffer, [self.indices.evaluate(each) for each in shape])

    def _allocate(self, buffer: int) -> None:
        """Take down an allocation: TVM multiplies its extents without looking at the result."""
        graph = self.graph
        self._declare(buffer, dense=True)
        size = allocated_bytes(graph, buffer, self.harmless.padding)
        if size is None:
            self.reasons.doubt("unproven-size", graph.name(buffer))
        elif size * math.prod(each.rounds for each in self.copies) > SIZE_LIMIT:
            self.reasons.refuse("unguarded-large", graph.name(buffer))
        self.allocated[buffer] = None

    # --- statements -------------------------------------------------------------------------------

    def statement(self, index: int) -> None:
        """Look at a statement and at those inside it, in the order of the program."""
        self.budget.spend()
        if self.depth > NESTING_LIMIT:
            self.reasons.doubt("unproven-nesting", "")
            return
        rule = self.rules.get(self.graph.type_of(index))
        if rule is None:
            self.reasons.refuse("unguarded-types", self.graph.type_of(index))
            return
        self.depth += 1
        rule(index)
        self.depth -= 1

    def _sequence(self, index: int) -> None:
        for each in self.graph.list(index, "seq"):
            self.statement(each)

    def _bind(self, index: int) -> None:
        self.indices.bind(self.graph.field(index, "var"), self.graph.field(index, "value"))

    def _store(self, index: int) -> None:
        self.indices.visit(self.graph.field(index, "value"))
        self.access(self.graph.field(index, "buffer"), self.graph.list(index, "indices"))

    def _within(self, statement: int) -> None:
        with self.knowledge.scope():
            self.statement(statement)

    def _loop(self, index: int) -> None:
        graph = self.graph
        low, extent = (
            self.indices.evaluate(graph.field(index, name)) for name in ("min", "extent")
        )
        variable, last = graph.field(index, "loop_var"), add(add(low, extent), number(-1))
        numbers = type_of(graph, variable).numbers
        step = graph.optional(index, "step")
        stride = number(1) if step is None else self.indices.evaluate(step)
        know = self.knowledge
        if know.lowest(stride, 1) < 1:
            # Backwards from 0 by -1, with an extent of -16, there are sixteen rounds.
            self.reasons.doubt("unproven-iterator", graph.name(variable))
        # The counter runs one step past the last round before it is compared.
        beyond = add(last, stride)
        if numbers is None or know.magnitude(beyond) > numbers.high:
            self.reasons.doubt("unproven-overflow", type_of(graph, variable).scalar)
        moves = self._is_moved(index)
        first, most = know.lowest(low), know.highest(last)
        if most < first:
            return
        if pipeline_stages(graph, index):
            # TVM makes several of each buffer between two stages: nothing is proven of them.
            self.reasons.doubt("unproven-pipeline", graph.name(variable))
        before = self.copies
        rounds = constant(graph, graph.field(index, "extent"))
        # An unrolled loop of 8,192 rounds around a block's small buffer has 8,192 of it on the
        # stack.
        if graph.field(index, "kind") in _COPYING_LOOPS and rounds is not None:
            self.copies = (*before, _Copies(index, rounds))
        self.moved += moves
        with know.scope():
            form = know.unknown(first, most)
            for bound in (add(form, low, -1), add(last, form, -1)):
                if len(bound.terms) > 1:
                    know.relate(form.terms[0][0], bound)
            self.indices.define(variable, form)
            self.statement(graph.field(index, "body"))
        self.copies = before
        self.moved -= moves

    def _is_moved(self, index: int) -> bool:
        """Say whether TVM moves a loop, so that it begins at 0 and goes by 1.

        It forgets to in the bounds of a moved loop within another: in `for i in range(64, 66): for
        j in range(i - 64, i - 62)` it lets `j` begin at -64.
        """
        graph = self.graph
        low, extent = (constant(graph, graph.field(index, name)) for name in ("min", "extent"))
        step = graph.optional(index, "step")
        stride = 1 if step is None else constant(graph, step)
        if low == 0 and stride == 1:
            return False
        if self.moved and None in (low, extent, stride):
            self.reasons.doubt("unproven-loop", graph.name(graph.field(index, "loop_var")))
        return True

    def _choice(self, index: int) -> None:
        graph = self.graph
        condition = graph.field(index, "condition")
        self.indices.visit(condition)
        branches = [graph.field(index, "then_case"), graph.optional(index, "else_case")]
        for branch, truth in zip(branches, (True, False), strict=True):
            if branch is not None:
                with self.knowledge.scope():
                    self.indices.learn(condition, truth)
                    self.statement(branch)

    def _block(self, index: int) -> None:
        """Look at a block: where its predicate holds, its iterators are their values."""
        graph, block = self.graph, self.graph.field(index, "block")
        predicate = graph.field(index, "predicate")
        self.indices.visit(predicate)
        with self.knowledge.scope():
            self.indices.learn(predicate, True)
            self._block_within(index, block)

    def _block_within(self, index: int, block: int) -> None:
        graph = self.graph
        iterators, values = graph.list(block, "iter_vars"), graph.list(index, "iter_values")
        self.budget.spend(len(iterators) + len(graph.list(block, "alloc_buffers")))
        forms = [self.indices.evaluate(value) for value in values]
        for iterator, form in zip(iterators, forms, strict=True):
            self._iterator(iterator, form)
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

    def _iterator(self, iterator: int, form: LinearForm) -> None:
        """Let an iterator stand for its value, which must be in the range that it declares: TVM
        may believe that range, and leave out a condition that always holds in it."""
        graph = self.graph
        variable, domain = graph.field(iterator, "var"), graph.optional(iterator, "dom")
        if domain is not None:
            low = self.indices.evaluate(graph.field(domain, "min"))
            extent = self.indices.evaluate(graph.field(domain, "extent"))
            if not self._is_within(add(form, low, -1), extent):
                self.reasons.doubt("unproven-iterator", graph.name(variable))
        self.indices.define(variable, form)

    def _match(self, match: int) -> None:
        """Let a buffer be a part of another one: its indices are added to where the part begins.

        The part must lie within the whole, and the buffer within the part: of `A[0:2]`, a buffer of
        100 items reaches 98 behind it. TVM goes by the whole's strides, so its own do not matter.
        """
        graph = self.graph
        buffer, region = graph.field(match, "buffer"), graph.field(match, "source")
        source = graph.field(region, "source")
        ranges = self._spans(region)
        whole = self.buffers.get(source)
        if item_type(graph, buffer) != item_type(graph, source):
            self.reasons.refuse("unguarded-types", graph.name(buffer))  # its items may be larger
        self._use(source)
        if whole is None:
            self.reasons.refuse("unguarded-scope", graph.name(source))
            whole = []
        self._declare(buffer, dense=False)
        shape = self.buffers[buffer]
        # A part was named that lies behind its buffer, and written by that name (cheat wild_part).
        good = len(shape) <= len(ranges) == len(whole)
        for (low, extent), most in zip(ranges, whole, strict=False):
            good = good and self._is_part(low, extent, most)
        for (_, extent), own in zip(ranges[len(ranges) - len(shape) :], shape, strict=False):
            good = good and self.knowledge.is_at_most(own, extent)
        if not good:
            self.reasons.doubt("unproven-part", graph.name(buffer))

    def _spans(self, region: int) -> list[_Span]:
        graph, evaluate = self.graph, self.indices.evaluate
        return [
            _Span(evaluate(graph.field(each, "min")), evaluate(graph.field(each, "extent")))
            for each in graph.list(region, "region")
        ]

    def _believe(self, block: int, side: str, annotation: str, places: int) -> None:
        """Take down regions that TVM believes: it allocates no more of a buffer than them.

        With one of `A[0:2]`, a load of `A[9]` in the block is behind the two items that are left of
        `A`. So no load may leave them.
        """
        graph, declared = self.graph, self.graph.list(block, side)
        listed = graph.items(places) if graph.type_of(places) == "ffi.Array" else [places]
        for place in (plain_integer(graph, each) for each in listed):
            # TVM looks up the writes by a place that it has compared with the number of reads.
            if place is None or not 0 <= place < min(
                len(declared), len(graph.list(block, "reads"))
            ):
                self.reasons.refuse("unguarded-annotation", annotation)
                return
            buffer = graph.field(declared[place], "source")
            self.knowledge.put(self.regions, buffer, self._spans(declared[place]))

    def _is_part(self, low: LinearForm, extent: LinearForm, most: LinearForm) -> bool:
        know = self.knowledge
        return know.lowest(low, 0) >= 0 and know.is_at_most(add(low, extent), most)

    # --- accesses ---------------------------------------------------------------------------------

    def load(self, index: int) -> None:
        """Look at the indices of a load, and whether it stays in what its block declares."""
        graph = self.graph
        buffer, indices = graph.field(index, "source"), graph.list(index, "indices")
        self.access(buffer, indices)
        for each, span in zip(indices, self.regions.get(buffer, ()), strict=False):
            # Cheat wild_region: two items were declared, and the rest read from behind them.
            if not self._is_within(add(self.indices.evaluate(each), span.low, -1), span.extent):
                self.reasons.refuse("unguarded-annotation", graph.name(buffer))

    def access(self, buffer: int, indices: list[int]) -> None:
        shape = self.buffers.get(buffer)
        forms = [self.indices.evaluate(each) for each in indices]
        if shape is None:
            # A buffer that is used after its scope is memory that was given back.
            self.reasons.refuse("unguarded-scope", self.graph.name(buffer))
            return
        self._use(buffer)
        for place, (form, extent) in enumerate(zip(forms, shape, strict=True), start=1):
            if not self._is_within(form, extent):
                self.reasons.doubt("unproven-index", self.graph.name(buffer), place)

    def _use(self, buffer: int) -> None:
        """Take down that an allocation is used here: TVM moves it to the innermost loop that has
        all of its uses in it."""
        if buffer in self.allocated:
            around = self.allocated[buffer]
            both = zip(self.copies if around is None else around, self.copies, strict=False)
            common = takewhile(lambda pair: pair[0] == pair[1], both)
            self.allocated[buffer] = tuple(each for each, _ in common)

    def _is_within(self, form: LinearForm, extent: LinearForm) -> bool:
        """Say whether `0 <= form < extent` is certain."""
        know, past = self.knowledge, add(add(form, extent, -1), number(1))
        return self.indices.proves(lambda: know.lowest(form, 0) >= 0 and know.highest(past, 0) <= 0)
