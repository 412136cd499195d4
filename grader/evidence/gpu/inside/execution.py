"""A lowered function from its arguments to its outputs: kernels one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from grader.evidence.gpu.inside.expressions import Evaluate, Expressions, parse_dtype
from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.kernels import (
    OTHER_REGISTERS,
    POINTER_REGISTERS,
    THREAD_KEYS,
    Translated,
    Translator,
    launch_kernel,
)
from grader.evidence.gpu.inside.memories import Memory
from grader.evidence.gpu.inside.poison import poisoned
from grader.evidence.gpu.inside.quoting import cut, quote_store
from grader.evidence.gpu.inside.state import MEMORIES, Launch, Notes, State
from grader.evidence.gpu.inside.statements import statements_in
from grader.evidence.gpu.inside.traffic import Moved
from grader.evidence.gpu.messages import KERNEL_LIMIT, Finding, KernelCounts, Traffic, Waits

MOST_ELEMENTS = 2**28
"""Most elements of all arrays together."""

Array = npt.NDArray[Any]


@dataclass
class Execution:
    """What came of one execution."""

    outputs: list[Array]
    notes: Notes
    launches: list[tuple[Translated, KernelCounts]]
    unstored: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All faults, in the order in which they happened."""
        return tuple(self.notes.found.values())

    def counts(self) -> tuple[KernelCounts, ...]:
        """The counters of each kernel."""
        return tuple(counts for _, counts in self.launches)


@dataclass
class Program:
    """A lowered PrimFunc, ready to be executed on arrays.

    `shapes` has the shapes of buffers by name, before they were made flat.
    """

    function: Any
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def execute(
        self,
        arguments: Sequence[Array],
        outputs: Sequence[int],
        skipped: dict[int, frozenset[int]] | None = None,
        notes: Notes | None = None,
    ) -> Execution:
        """Execute all kernels; `outputs` are poisoned first, and returned.

        `skipped` has the barriers that are left out, by kernel. Raises NotSimulatedError, and what
        `notes` raise of a fault.
        """
        with np.errstate(all="ignore"):
            return _Run(self, arguments, set(outputs), skipped or {}, notes or Notes()).run()


class _Run:
    def __init__(
        self,
        program: Program,
        arguments: Sequence[Array],
        outputs: set[int],
        skipped: dict[int, frozenset[int]],
        notes: Notes,
    ) -> None:
        self.program = program
        self.skipped = skipped
        self.notes = notes
        self.expressions = Expressions({})
        self.memories: dict[int, Memory] = {}
        self.aliases: dict[int, int] = {}
        self.values: dict[int, Any] = {}
        self.launches: list[tuple[Translated, KernelCounts]] = []
        self.loops: list[str] = []
        self.translated: dict[int, Translated] = {}
        self.outputs = [self._bind(*pair, outputs) for pair in enumerate(arguments)]
        self.wanted = sorted(outputs)

    def run(self) -> Execution:
        """Execute the function."""
        self._statement(self.program.function.body)
        if not self.launches and not self.notes.found:
            raise NotSimulatedError("no_kernel", "")
        chosen = [self.outputs[each] for each in self.wanted]
        computed = [each.data.reshape(each.shape) for each in chosen]
        unstored = tuple(chain.from_iterable(map(_unstored, chosen)))
        return Execution(computed, self.notes, self.launches, unstored)

    # --- arguments --------------------------------------------------------------------------------

    def _bind(self, number: int, array: Array, outputs: set[int]) -> Memory:
        """Give a parameter its array, and the variables of its shape their extents."""
        parameter = self.program.function.params[number]
        for axis, extent in zip(parameter.ty.shape, array.shape, strict=True):
            if type(axis).__name__ == "Var":
                dtype = parse_dtype(str(axis.ty.dtype))[0].type
                self.values[self.expressions.slot(axis)] = dtype(extent)
        flat = np.array(array).reshape(-1)
        memory = Memory(str(parameter.name), array.shape, flat)
        if number in outputs:
            memory.data = poisoned(flat.size, flat.dtype)
            memory.written = np.zeros(flat.size, np.bool_)
        self.memories[self.expressions.slot(parameter)] = memory
        return memory

    # --- what the host does -----------------------------------------------------------------------

    def _statement(self, node: Any) -> None:
        rules = {
            "AllocBuffer": self._allocate,
            "AssertStmt": _ignore,
            "AttrStmt": self._attribute,
            "Bind": self._name,
            "BufferStore": self._store,
            "DeclBuffer": self._declare,
            "Evaluate": _ignore,
            "For": self._loop,
            "IfThenElse": self._condition,
            "SeqStmt": self._sequence,
        }
        kind = type(node).__name__
        if self._is_kernel(node):
            self._kernel(node)
        elif kind in rules:
            rules[kind](node)
        else:
            raise NotSimulatedError("statement", kind)

    def _sequence(self, node: Any) -> None:
        for each in node.seq:
            self._statement(each)

    def _attribute(self, node: Any) -> None:
        self._statement(node.body)

    def _loop(self, node: Any) -> None:
        slot, state = self.expressions.slot(node.loop_var), self._state()
        low, count = (self._number(each, state) for each in (node.min, node.extent))
        if not any(self._is_kernel(each) for each in statements_in(node.body)):
            # A product without threads has two million rounds, and the same fault in each.
            count = min(count, 1)
        self.loops.append(f"{node.loop_var.name}")
        for number in range(low, low + count):
            self.values[slot] = np.int32(number)
            self._statement(node.body)
        self.loops.pop()

    def _declare(self, node: Any) -> None:
        Translator(self.expressions, self.aliases, set(), {}, {}, {}).declare(node)

    def _name(self, node: Any) -> None:
        self.values[self.expressions.slot(node.var)] = self._number(node.value, self._state())

    def _condition(self, node: Any) -> None:
        taken = self._number(node.condition, self._state())
        chosen = node.then_case if taken else node.else_case
        if chosen is not None:
            self._statement(chosen)

    def _store(self, node: Any) -> None:
        name, text = str(node.buffer.name), quote_store(node)
        finding = Finding("outside_kernel", len(self.launches), name, text=text)
        self.notes.add(("outside_kernel", text), finding)

    @staticmethod
    def _is_kernel(node: Any) -> bool:
        kind = type(node).__name__
        thread = kind == "AttrStmt" and str(node.attr_key) in THREAD_KEYS
        return thread or (kind == "For" and int(node.kind) == 4)

    def _allocate(self, node: Any) -> None:
        """Allocate what kernels hand to each other; what a block or a thread owns is none of it."""
        buffer = node.buffer
        scope, name = str(buffer.ty.storage_scope), str(buffer.name)
        if scope not in ("", "global"):
            finding = Finding("outside_kernel", len(self.launches), name, scope, text=cut(name))
            self.notes.add(("outside_kernel", name), finding)
        dtype, _ = parse_dtype(str(buffer.ty.dtype.dtype))
        shape = tuple(self._number(each, self._state()) for each in buffer.ty.shape)
        size = math.prod(shape)
        if size > MOST_ELEMENTS:
            raise NotSimulatedError("steps", str(size))
        memory = Memory(name, self.program.shapes.get(name, shape), poisoned(size, dtype))
        memory.written = np.zeros(size, np.bool_)
        self.memories[self.expressions.slot(buffer)] = memory

    def _number(self, node: Any, state: State) -> int:
        return int(self.expressions.of(node, _no_load)(state))

    def _state(self) -> State:
        launch = Launch(0, (1, 1, 1), (1, 1, 1), [], self.notes)
        return State(launch, np.zeros(1, np.int64), self._slots())

    def _slots(self) -> list[Any]:
        return [self.values.get(each) for each in range(len(self.expressions.slots) + 64)]

    def _kernel(self, node: Any) -> None:
        if len(self.launches) == KERNEL_LIMIT:
            raise NotSimulatedError("kernels", self.loops[0] if self.loops else "")
        kernel = self.translated.get(hash(node))
        if kernel is None:
            names = {slot: each.name for slot, each in self.memories.items()}
            translator = Translator(
                self.expressions, self.aliases, set(self.memories), names, {}, self.program.shapes
            )
            kernel = self.translated[hash(node)] = translator.kernel(node)
        for site in kernel.sites:  # that a loop starts again: each launch counted what all moved
            site.moved, site.repeated = Moved(0, 0, 0, 0), 0
        number = len(self.launches)
        skipped = self.skipped.get(number, frozenset())
        launch = launch_kernel(
            kernel, self.expressions, self.memories, self._slots(), number, self.notes, skipped
        )
        self.launches.append((kernel, _counts(kernel, launch)))


def _unstored(output: Memory) -> Iterator[Finding]:
    """Yield the first element of an output that no thread has stored, if there is one."""
    if output.written is not None and not output.written.all():
        element = output.element(int(np.argmin(output.written)))
        yield Finding("unstored", 0, output.name, output.scope, element)


def _ignore(_node: Any) -> None:
    """Do nothing: the host checks what it was given."""


def _no_load(node: Any, _: Expressions) -> Evaluate:
    raise NotSimulatedError("statement", f"load of {node.source.name} outside a kernel")


def _counts(kernel: Translated, launch: Launch) -> KernelCounts:
    words = kernel.local_words + POINTER_REGISTERS * kernel.pointers + OTHER_REGISTERS
    return KernelCounts(
        launch.grid,
        launch.block,
        launch.executed,
        kernel.shared_bytes,
        kernel.dynamic_bytes,
        words,
        launch.operations,
        launch.issued,
        launch.local,
        Waits(*(launch.waits[each] for each in MEMORIES)),
        tuple(_traffic(kernel)),
    )


def _traffic(kernel: Translated) -> Iterator[Traffic]:
    for site in kernel.sites:
        if site.moved.requests and site.scope != "local":
            statement = site.statement
            scope: Literal["global", "shared"] = "shared" if site.scope == "shared" else "global"
            yield Traffic(
                statement.number,
                site.kind,
                statement.text,
                site.text,
                site.buffer,
                scope,
                *site.moved,
                repeated=site.repeated,
            )
