"""Kernels of a lowered function: translated once, then executed block by block.

Why NumPy and not LLVM: barriers, races, what was never stored, sectors and banks are all seen in
one run of one engine, which knows what each thread does at each statement. A function made serial
and built by LLVM is faster on large arrays, and sees none of them. A statement costs some 50 us for
up to `LANES` threads at once, so a product of two 128 x 128 matrices takes one to two seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from tvm.tirx.analysis import undefined_vars

from grader.evidence.gpu.inside.expressions import (
    Evaluate,
    Expressions,
    choices_in,
    count_operations,
    operands,
    parse_dtype,
)
from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.memories import (
    LocalMemory,
    Memory,
    OwnMemory,
    SharedMemory,
    WarpMemory,
)
from grader.evidence.gpu.inside.quoting import cut, quote, quote_element, quote_store
from grader.evidence.gpu.inside.shadows import Shadow
from grader.evidence.gpu.inside.state import (
    Axes,
    Launch,
    Loop,
    Notes,
    Site,
    State,
    Statement,
)
from grader.evidence.gpu.inside.statements import statements_in
from grader.evidence.gpu.messages import Finding, FindingKind

LANES = 2**14
"""Most threads that are executed at once."""

POINTER_REGISTERS = 2
OTHER_REGISTERS = 16
"""Registers for the places of threads, loops and temporaries, beside pointers and local arrays."""

MOST_THREADS = 4096
"""Most threads of a block that are executed; a GPU's has 1,024."""

MOST_HELD = 2**21
"""Most elements that the blocks of a batch have of their own: some 160 MB with their shadows."""

MOST_KEPT = 16
"""Most elements that a compiler keeps of one load for the rounds of an outer loop."""

Run = Callable[[State], None]
_MEMORIES = {
    "shared": SharedMemory,
    "shared.dyn": SharedMemory,
    "local": LocalMemory,
    "warp": WarpMemory,
    "global": OwnMemory,
}
"""Memory of the buffers that a kernel allocates inside itself, by scope."""
_BARRIERS = frozenset({"shared", "shared.dyn"})
"""What TVM's CUDA has a barrier for. That of "global" memory needs a counter that only another pass
declares: without it no compiler accepts the kernel."""
THREAD_KEYS = frozenset({"thread_extent", "virtual_thread"})
"""Attributes that give an index its threads. TVM makes loops of virtual ones, but leaves them where
a function has no blocks."""
_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass
class Translated:
    """A kernel: what it does, and what it needs before it can be launched.

    `barriers` has, for each, the number of the statement that follows it.
    """

    run: Run
    threads: dict[tuple[str, int], list[Any]]
    sites: list[Site]
    stored: set[int]
    barriers: list[int]
    shared_bytes: int
    dynamic_bytes: int
    local_words: int
    pointers: int
    shared_elements: int
    local_elements: int


@dataclass
class _Place:
    """Where the translator is: the loops around, the conditions, and what reduces over threads."""

    loops: tuple[Loop, ...] = ()
    conditions: tuple[Any, ...] = ()
    reducer: Any = None


class _Folding(NamedTuple):
    """How two partial results become one: the slots of both, and the functions of the results."""

    left: list[int]
    right: list[int]
    combine: list[Evaluate]


@dataclass
class Translator:
    """Makes functions of the statements of one kernel. `memories` has the slots of buffers."""

    expressions: Expressions
    aliases: dict[int, int]
    known: set[int]
    names: dict[int, str]
    scopes: dict[int, str]
    shapes: dict[str, tuple[int, ...]]
    sites: list[Site] = field(default_factory=list)
    written_as: list[tuple[int, str]] = field(default_factory=list)
    threads: dict[tuple[str, int], list[Any]] = field(default_factory=dict)
    stored: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)
    barriers: list[int] = field(default_factory=list)
    bound: dict[int, set[int] | None] = field(default_factory=dict)
    statements: int = 0
    shared_bytes: int = 0
    dynamic_bytes: int = 0
    shared_elements: int = 0
    local_words: int = 0
    local_elements: int = 0

    def kernel(self, node: Any) -> Translated:
        """Translate a kernel. Raises NotSimulatedError."""
        run = self.statement(node, _Place())
        self._find_foreign()
        return Translated(
            run,
            self.threads,
            self.sites,
            self.stored,
            self.barriers,
            self.shared_bytes,
            self.dynamic_bytes,
            self.local_words + sum(each.registers for each in self.sites),
            len(self.used & self.known),
            self.shared_elements,
            self.local_elements,
        )

    # --- statements -------------------------------------------------------------------------------

    def statement(self, node: Any, place: _Place) -> Run:
        """Return what a statement does."""
        rules = {
            "AllocBuffer": self._allocate,
            "AssertStmt": self._ignore,
            "AttrStmt": self._attribute,
            "Bind": self._bind,
            "BufferStore": self._store,
            "DeclBuffer": self._declare,
            "Evaluate": self._evaluate,
            "For": self._loop,
            "IfThenElse": self._condition,
            "SeqStmt": self._sequence,
        }
        kind = type(node).__name__
        if kind not in rules:
            raise NotSimulatedError("statement", kind)
        return rules[kind](node, place)

    def _ignore(self, _node: Any, _place: _Place) -> Run:
        return _nothing

    def _declare(self, node: Any, _place: _Place) -> Run:
        self.declare(node)
        return _nothing

    def _sequence(self, node: Any, place: _Place) -> Run:
        runs = [self.statement(each, place) for each in node.seq]

        def run(state: State) -> None:
            for each in runs:
                each(state)

        return run

    def _loop(self, node: Any, place: _Place) -> Run:
        variable = node.loop_var
        if int(node.kind) == 4:
            self._thread(str(node.thread_binding.thread_tag), variable, node.extent)
            return self.statement(node.body, place)
        slot = self.expressions.slot(variable)
        dtype = parse_dtype(str(variable.ty.dtype))[0].type
        low, extent = self.value(node.min, place), self.value(node.extent, place)
        inner = replace(place, loops=(*place.loops, self._describe(node, slot)))
        body = self.statement(node.body, inner)
        step = 1 if node.step is None else int(node.step)

        def run(state: State) -> None:
            first, count = low(state), extent(state)
            if np.ndim(count) == 0 and np.ndim(first) == 0:
                for number in range(0, int(count), step):
                    state.values[slot] = dtype(first + number)
                    body(state)
                return
            active = np.where(True if state.mask is None else state.mask, count, 0)
            for number in range(0, int(active.max()), step):
                with state.where(number < count) as some:
                    if some:
                        state.values[slot] = np.asarray(first + number, dtype)
                        body(state)

        return run

    def _describe(self, node: Any, slot: int) -> Loop:
        """Return what is known of a loop before it is run."""
        low, extent = (
            int(each.value) if type(each).__name__ == "IntImm" else None
            for each in (node.min, node.extent)
        )
        inside = list(statements_in(node.body))
        stores = {self.slot_of(each.buffer) for each in inside if hasattr(each, "indices")}
        closed = not any(type(each).__name__ == "Evaluate" for each in inside)
        name = str(node.loop_var.name)
        return Loop(hash(node), name, slot, low, extent, closed, frozenset(stores))

    def _condition(self, node: Any, place: _Place) -> Run:
        condition = self.value(node.condition, place)
        place = replace(place, conditions=(*place.conditions, node.condition))
        first = self.statement(node.then_case, place)
        second = None if node.else_case is None else self.statement(node.else_case, place)

        def run(state: State) -> None:
            state.launch.clock += 1
            holds = np.asarray(condition(state))
            if holds.ndim == 0:
                if holds:
                    first(state)
                elif second is not None:
                    second(state)
                return
            with state.where(holds) as some:
                if some:
                    first(state)
            if second is not None:
                with state.where(~holds) as some:
                    if some:
                        second(state)

        return run

    def _store(self, node: Any, place: _Place) -> Run:
        statement = Statement(self.statements, quote_store(node), place.loops)
        self.statements += 1
        value = self.value(node.value, place, statement)
        index = self._index(node.indices, place, statement)
        slot = self.memory(node.buffer)
        self.stored.add(slot)
        operations = count_operations(node.value)
        loads = [each for each in self.sites if each.statement is statement]
        site = self._site(statement, "store", slot, (node.buffer.name, node.indices))
        own = sum(each.scope == "local" for each in (*loads, site))

        def run(state: State) -> None:
            state.launch.clock += 1
            result, where = value(state), index(state)
            state.count(operations, loads, own)
            state.memories[slot].store(state, site, where, result)

        return run

    def _bind(self, node: Any, place: _Place) -> Run:
        statement = Statement(
            self.statements, cut(f"{node.var.name} = {quote(node.value)}"), place.loops
        )
        self.statements += 1
        slot, value = self.expressions.slot(node.var), self.value(node.value, place, statement)
        self.bound[slot] = self._loops_of(node.value)

        def run(state: State) -> None:
            state.launch.clock += 1
            state.values[slot] = np.array(value(state))[()]

        return run

    def _evaluate(self, node: Any, place: _Place) -> Run:
        call = node.value
        if type(call).__name__ != "Call":
            return _nothing
        name = str(getattr(call.op, "name", ""))
        if name == "tirx.tvm_storage_sync":
            return self._barrier(str(call.args[0].value))
        if name == "tirx.tvm_thread_allreduce" and place.reducer is not None:
            return self._reduction(place.reducer, call, place)
        raise NotSimulatedError("operator", name)

    def _barrier(self, scope: str) -> Run:
        if scope == "warp":  # TVM's CUDA has nothing for it
            return _nothing
        if scope not in _BARRIERS:
            raise NotSimulatedError("barrier", scope)
        number, following = len(self.barriers), self.statements
        self.barriers.append(following)

        def run(state: State) -> None:
            launch = state.launch
            if number in launch.skipped:
                return
            if state.mask is None:
                state.epoch += 1
                return
            whole, some = state.mask.all(axis=1), state.mask.any(axis=1)
            if (whole != some).any():
                _tell_divergent(state, following)
            state.epoch[some] += 1

        return run

    def _attribute(self, node: Any, place: _Place) -> Run:
        key = str(node.attr_key)
        if key in THREAD_KEYS:
            self._thread(str(node.node.thread_tag), node.node.var, node.value)
        if key == "reduce_scope":
            # TVM may put a barrier in before the reduction itself.
            place = replace(place, reducer=node.node)
        return self.statement(node.body, place)

    def _thread(self, tag: str, variable: Any, extent: Any) -> None:
        kind, _, axis = tag.partition(".")
        if kind not in ("blockIdx", "threadIdx") or axis not in _AXES:
            raise NotSimulatedError("axis", tag)
        self.expressions.slot(variable)
        self.threads.setdefault((kind, _AXES[axis]), []).append((variable, extent))

    def _reduction(self, reducer: Any, call: Any, place: _Place) -> Run:
        """Return a sum over threads: they are folded in halves, as they are on a GPU.

        It may be of several values: of a number and its place, for `argmax`.
        """
        count = int(call.args[0])
        sources, condition = call.args[1 : count + 1], call.args[count + 1]
        targets, axes = call.args[count + 2 : 2 * count + 2], call.args[2 * count + 2 :]
        names = ", ".join(str(each.source.name) for each in targets)
        text = cut(f"{names} = reduce({', '.join(map(quote, sources))})")
        statement = Statement(self.statements, text, place.loops)
        self.statements += 1
        holds = self.value(condition, place)
        partial = [self.value(each, place, statement) for each in sources]
        stores = [self._reduced(each, place, statement) for each in targets]
        folding = self._folding(reducer, place)
        identities = [self.value(each, place) for each in reducer.identity_element]
        slots = [self.expressions.slot(each) for each in axes]
        axis_of = self._axis_of

        def run(state: State) -> None:
            state.launch.clock += 1
            taken = state.whole(holds(state))
            if state.mask is not None:
                _tell_divergent_if_partial(state, statement.number)
                taken = taken & state.mask
            x, y, z = state.launch.block
            rows = (len(taken), z, y, x)
            folded = [
                np.where(taken, state.whole(value(state)), identity(state)).reshape(rows)
                for value, identity in zip(partial, identities, strict=True)
            ]
            for each in slots:
                folded = _fold(state, folded, 3 - axis_of(each), folding)
            for store, value in zip(stores, folded, strict=True):
                store(state, np.broadcast_to(value, rows).reshape(state.shape))

        return run

    def _reduced(
        self, target: Any, place: _Place, statement: Statement
    ) -> Callable[[State, Any], None]:
        """Return what stores a result of a sum over threads."""
        index = self._index(target.indices, place, statement)
        slot = self.memory(target.source)
        self.stored.add(slot)
        site = self._site(statement, "store", slot, (target.source.name, target.indices))
        return lambda state, value: state.memories[slot].store(state, site, index(state), value)

    def _folding(self, reducer: Any, place: _Place) -> _Folding:
        left, right = (
            [self.expressions.slot(each) for each in side] for side in (reducer.lhs, reducer.rhs)
        )
        return _Folding(left, right, [self.value(each, place) for each in reducer.result])

    def _axis_of(self, slot: int) -> int:
        for (kind, axis), variables in self.threads.items():
            for variable, _ in variables:
                if kind == "threadIdx" and self.expressions.slot(variable) == slot:
                    return axis
        raise NotSimulatedError("operator", "tirx.tvm_thread_allreduce")

    # --- buffers ----------------------------------------------------------------------------------

    def _allocate(self, node: Any, _place: _Place) -> Run:
        buffer = node.buffer
        scope = str(buffer.ty.storage_scope) or "global"
        if scope not in _MEMORIES:
            raise NotSimulatedError("scope", scope)
        dtype, lanes = parse_dtype(str(buffer.ty.dtype.dtype))
        shape = tuple(_extent(each) for each in buffer.ty.shape)
        size = math.prod(shape)
        if lanes != 1:
            raise NotSimulatedError("dtype", str(buffer.ty.dtype.dtype))
        if size > MOST_HELD:
            raise NotSimulatedError("steps", str(size))
        name = str(buffer.name)
        kind = _MEMORIES[scope]
        if kind is not SharedMemory:
            self.local_elements += size
            self.local_words += -(-size * dtype.itemsize // 4)
        else:
            self.shared_elements += size
        if scope == "shared":
            self.shared_bytes += size * dtype.itemsize
        elif scope == "shared.dyn":
            self.dynamic_bytes += size * dtype.itemsize
        slot = self.slot_of(buffer)
        self.names[slot] = name
        self.scopes[slot] = "shared" if kind is SharedMemory else "local"
        told = self.shapes.get(name, shape)
        shape = told if math.prod(told) == size else shape

        def run(state: State) -> None:
            # In a loop it is the same memory in every round, as it is on a GPU.
            if slot not in state.memories:
                state.memories[slot] = kind(name, shape, dtype, state)

        return run

    def declare(self, node: Any) -> None:
        """Take down that a buffer is another name of one."""
        data = node.data
        if type(data).__name__ != "Call" or str(data.op.name) != "tirx.buffer_data":
            raise NotSimulatedError("statement", "DeclBuffer")
        # Another type over the same bytes is another memory for NumPy.
        old, new = data.args[0].ty, node.buffer.ty
        if str(old.dtype.dtype) != str(new.dtype.dtype) or not _is_zero(new.elem_offset):
            raise NotSimulatedError("statement", "DeclBuffer")
        self.aliases[hash(node.buffer)] = self.slot_of(data.args[0])

    def slot_of(self, buffer: Any) -> int:
        """Return the slot of a buffer, the first that its memory had."""
        slot = self.aliases.get(hash(buffer))
        return self.expressions.slot(buffer) if slot is None else slot

    def memory(self, buffer: Any) -> int:
        """Return the slot of a buffer that a kernel uses."""
        slot = self.slot_of(buffer)
        self.used.add(slot)
        return slot

    # --- expressions ------------------------------------------------------------------------------

    def value(self, node: Any, place: _Place, statement: Statement | None = None) -> Evaluate:
        """Return the function of an expression; its loads belong to a statement."""
        if statement is None:
            statement = Statement(self.statements, cut(quote(node)), place.loops)
        conditions = (*place.conditions, *choices_in(node))

        def load(each: Any, _: Expressions) -> Evaluate:
            slot = self.memory(each.source)
            site = self._site(statement, "load", slot, (each.source.name, each.indices))
            if site.scope != "local":
                self._keep(site, slot, (each.indices[0], *conditions), place.loops)
            index = self._index(each.indices, place, statement)
            return lambda state: state.memories[slot].load(state, site, index(state))

        return self.expressions.of(node, load)

    def _keep(
        self, site: Site, slot: int, decisive: tuple[Any, ...], loops: tuple[Loop, ...]
    ) -> None:
        """Find the loops over which a compiler keeps what is loaded in registers.

        Those are the inner loops that the index does not depend on: of `A[i, k] * B[k, j]` in loops
        `k, i, j` of four rounds each, four elements of each matrix are loaded for one `k`. Where
        loops within have more values than there is room for, they are loaded again. `decisive` are
        the index and the conditions of the load: what is loaded in the second round alone, or in
        each round by another thread, is not there yet (cheat of a load under `i == 1`).
        """
        used: set[int] = set()
        for each in decisive:
            found = self._loops_of(each)
            if found is None:
                return
            used |= found
        kept, values = [], 1
        for loop in reversed(loops):
            if not loop.closed or slot in loop.stores or loop.extent is None or loop.low is None:
                break
            if loop.slot in used:
                values *= loop.extent
            elif values <= MOST_KEPT:
                kept.append((loop.slot, loop.low))
                site.registers = values
        site.kept = tuple(kept)

    def _loops_of(self, index: Any) -> set[int] | None:
        """Return the slots of variables that an index depends on; None where it depends on what is
        loaded."""
        found: set[int] = set()
        pending = [index]
        while pending:
            node = pending.pop()
            kind = type(node).__name__
            if kind in ("TensorLoad", "Let"):
                return None
            if kind == "Var":
                slot = self.expressions.slot(node)
                if slot in self.bound and self.bound[slot] is None:
                    return None
                found |= self.bound.get(slot) or {slot}
            pending.extend(node.args if kind == "Call" else operands(node))
        return found

    def _index(self, indices: Any, place: _Place, statement: Statement) -> Evaluate:
        if len(indices) != 1:
            raise NotSimulatedError("statement", "index of several axes")
        return self.value(indices[0], place, statement)

    def _site(self, statement: Statement, kind: Any, slot: int, element: tuple[Any, Any]) -> Site:
        scope, name = self.scopes.get(slot, "global"), self.names.get(slot, "")
        alias, indices = element
        site = Site(len(self.sites), statement, kind, name, scope, quote_element(alias, indices))
        self.sites.append(site)
        self.written_as.append((slot, str(alias)))
        return site

    def _find_foreign(self) -> None:
        """Let each load from shared memory know the stores there by another name of the buffer,
        unless nothing is stored by its own name: then it is a view."""
        stores = [each.number for each in self.sites if each.kind == "store"]
        for site in self.sites:
            slot, alias = self.written_as[site.number]
            there = [each for each in stores if self.written_as[each][0] == slot]
            foreign = [each for each in there if self.written_as[each][1] != alias]
            if site.kind == "load" and site.scope == "shared" and len(foreign) < len(there):
                site.foreign = tuple(foreign)


def _nothing(_: State) -> None:
    """Do nothing."""


def _is_zero(node: Any) -> bool:
    return node is None or (type(node).__name__ == "IntImm" and int(node.value) == 0)


def _extent(node: Any) -> int:
    if type(node).__name__ != "IntImm":
        raise NotSimulatedError("statement", "allocation of a size that is not constant")
    return int(node.value)


def _fold(state: State, values: list[Any], axis: int, how: _Folding) -> list[Any]:
    """Combine all values along an axis, halves with halves."""
    values = [np.moveaxis(each, axis, 0) for each in values]
    while len(values[0]) > 1:
        half = len(values[0]) // 2
        for slot, other, each in zip(how.left, how.right, values, strict=True):
            state.values[slot], state.values[other] = each[:half], each[half : 2 * half]
        combined = [each(state) for each in how.combine]
        rest = (each[2 * half :] for each in values)
        values = [np.concatenate(each) for each in zip(combined, rest, strict=True)]
    return [np.moveaxis(each, 0, axis) for each in values]


def _tell_divergent_if_partial(state: State, following: int) -> None:
    assert state.mask is not None
    if (state.mask.all(axis=1) != state.mask.any(axis=1)).any():
        _tell_divergent(state, following)


def tell_barrier(kind: FindingKind, number: int, sites: list[Site], following: int) -> Finding:
    """Return a finding about the barrier before a statement, with the statements around it."""
    texts = {each.statement.number: each.statement.text for each in sites}
    after = next((texts[each] for each in sorted(texts) if each >= following), "")
    before = next((texts[each] for each in sorted(texts, reverse=True) if each < following), "")
    return Finding(kind, number, text=after, before=before)


def _tell_divergent(state: State, following: int) -> None:
    launch = state.launch
    finding = tell_barrier("divergent_barrier", launch.number, launch.sites, following)
    state.notes.add(("divergent_barrier", launch.number, following), finding)


def launch_kernel(
    kernel: Translated,
    expressions: Expressions,
    memories: dict[int, Memory],
    values: list[Any],
    number: int,
    notes: Notes,
    skipped: frozenset[int] = frozenset(),
) -> Launch:
    """Execute all blocks of a kernel; return what was counted."""
    extents = {"blockIdx": [1, 1, 1], "threadIdx": [1, 1, 1]}
    host = State(Launch(number, (1, 1, 1), (1, 1, 1), [], notes), np.zeros(1, np.int64), values)
    for (kind, axis), variables in kernel.threads.items():
        for _, extent in variables:
            size = expressions.of(extent, _no_load)
            for each in undefined_vars(extent):
                if values[expressions.slot(each)] is None:  # a thread's place, or of a loop inside
                    raise NotSimulatedError("statement", f"{each.name} before a kernel")
            extents[kind][axis] = max(extents[kind][axis], int(size(host)))
    grid, block = (_axes(extents[each]) for each in ("blockIdx", "threadIdx"))
    launch = Launch(number, grid, block, kernel.sites, notes, skipped)
    for slot in kernel.stored & set(memories):
        memories[slot].shadow = Shadow(memories[slot].data.size, launch.threads)
    if launch.threads > MOST_THREADS:
        raise NotSimulatedError("threads", f"{launch.threads:,}")
    blocks = math.prod(grid)
    held = kernel.shared_elements + kernel.local_elements * launch.threads
    batch = max(1, min(LANES // launch.threads, MOST_HELD // max(1, held)))
    for first in range(0, blocks, batch):
        numbers = np.arange(first, min(first + batch, blocks))
        state = State(launch, numbers, list(values))
        state.memories.update(memories)
        _bind_threads(kernel, expressions, state)
        kernel.run(state)
        launch.executed += len(numbers)
    for memory in memories.values():
        memory.shadow = None
    return launch


def _axes(extents: list[int]) -> Axes:
    x, y, z = extents
    return x, y, z


def _bind_threads(kernel: Translated, expressions: Expressions, state: State) -> None:
    """Let each thread know its place."""
    threads = np.arange(state.launch.threads)[None, :]
    numbers = {"blockIdx": state.blocks[:, None], "threadIdx": threads}
    extents = {"blockIdx": state.launch.grid, "threadIdx": state.launch.block}
    for (kind, axis), variables in kernel.threads.items():
        below = math.prod(extents[kind][:axis])
        places = numbers[kind] // below % extents[kind][axis]
        for variable, _ in variables:
            dtype = parse_dtype(str(variable.ty.dtype))[0]
            state.values[expressions.slot(variable)] = places.astype(dtype)


def _no_load(node: Any, _: Expressions) -> Evaluate:
    raise NotSimulatedError("statement", f"load of {node.source.name} before a kernel")
