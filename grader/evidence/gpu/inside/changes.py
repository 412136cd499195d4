"""Small changes of a kernel that is wrong, each executed on trial: with one it may be right.

Only what nobody finds a fault with is answered, with what it computes: whether that is right is for
the referee to say. The kernel is changed as its author wrote it, before it is lowered: an operator,
a number, a variable, a buffer, an index as elsewhere in the kernel, a condition, an extent, a
barrier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy.typing as npt
import tvm
import tvm_ffi
from tvm import tirx

from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.lowering import lower, threads_in
from grader.evidence.gpu.inside.quoting import cut, quote, quote_element, quote_store
from grader.evidence.gpu.inside.state import MOST_STEPS as MOST_OF_ALL
from grader.evidence.gpu.inside.state import Notes
from grader.evidence.gpu.inside.statements import statements_in
from grader.evidence.gpu.messages import CHANGE_LIMIT, NO_FAULTS, Change, ChangeKind, Finding
from grader.messages.frames import Array, pack_array

MOST_TRIALS = 400
"""Most changes that are executed."""

MOST_STATEMENTS = 64
"""Most statements of a kernel of which changes are tried."""

MOST_CHANGES = 4000
"""Most changes of which the likeliest are looked for."""

MOST_STEPS = 10**8
"""Longest execution of all changes together, in statements times threads."""

MOST_SECONDS = 20.0
"""Processor time of all trials. Replays and lowering take no steps: 600 of a schedule of twenty
blocks took more than a minute, and the machine from a whole class."""

MOST_BYTES = 16 * 2**20
"""Largest outputs of all changes together."""

Arrays = Sequence[npt.NDArray[Any]]


class _Changed(NamedTuple):
    """A node in place of another one, and in words what that was and is.

    `is_element`: these are elements of a buffer, which say where in the statement it is.
    """

    node: Any
    kind: ChangeKind
    before: str
    after: str
    statement: str = ""
    is_element: bool = False


def find_changes(
    module: Any, name: str, arch: str, calls: Sequence[Arrays], outputs: list[int]
) -> tuple[Change, ...]:
    """Return the changes of a function with which nothing is found in any call.

    `calls` are the arguments of each.
    """
    trials = Trials(name, arch, calls, outputs)
    function, found = module[name], list[Change]()
    for changed in islice(_changes(function), MOST_TRIALS):
        if trials.are_over or len(found) >= CHANGE_LIMIT:
            break
        computed = trials.computed(function.with_body(changed.node))
        if computed is not None:
            found.append(_told(changed, computed))
    return tuple(found)


def _told(changed: _Changed, outputs: tuple[Array, ...]) -> Change:
    # TVM's strings have their own class, which is not encoded.
    statement, before, after = (
        cut(f"{each}") for each in (changed.statement, changed.before, changed.after)
    )
    return Change(changed.kind, statement, before, after, outputs)


class Trials:
    """Executes functions on the same calls, and counts what that takes."""

    def __init__(
        self,
        name: str,
        arch: str,
        calls: Sequence[Arrays],
        outputs: list[int],
        most_steps: int | None = None,
    ) -> None:
        self._name, self._arch = name, arch
        self._calls, self._outputs = calls, outputs
        self._most_steps = MOST_STEPS if most_steps is None else most_steps
        self._steps = self._bytes = 0
        self._begin = time.process_time()

    @property
    def are_over(self) -> bool:
        """Say whether enough was executed, or took enough time."""
        return (
            self._steps > self._most_steps
            or self._bytes > MOST_BYTES
            or time.process_time() - self._begin > MOST_SECONDS
        )

    def function_of(self, module: Any) -> Any:
        """Return the function of a module that is executed."""
        return module[self._name]

    def computed(self, function: Any) -> tuple[Array, ...] | None:
        """Return the outputs of all calls, None where something is found or nothing is executed."""
        try:
            lowered = lower(tvm.IRModule({self._name: function}), self._name, self._arch)
            program = Program(lowered.function, lowered.shapes)
            found = list[Array]()
            for each in self._calls:
                computed = self._executed(program, each)
                if not computed:
                    return None
                found += computed
        except (NotSimulatedError, RuntimeError, TypeError, ValueError):  # TVM raises any of these
            return None
        self._bytes += sum(len(each.data) for each in found)
        return tuple(found)

    def _executed(self, program: Program, arguments: Arrays) -> list[Array]:
        room = min(MOST_OF_ALL, self._most_steps - self._steps)
        notes = _Faultless(left=room)
        try:
            execution = program.execute(arguments, self._outputs, notes=notes)
        except _FaultFoundError:
            return []
        finally:
            self._steps += room - notes.left
        return [] if execution.unstored else [pack_array(each) for each in execution.outputs]


class _FaultFoundError(Exception):
    """Raised at the first fault of a trial, which is none of the changes that are looked for."""


class _Faultless(Notes):
    """Notes of an execution that ends at its first fault."""

    def add(self, key: tuple[Any, ...], finding: Finding) -> None:
        """Take down what is no fault. Raises _FaultFoundError for all else."""
        if finding.kind not in NO_FAULTS:
            raise _FaultFoundError
        super().add(key, finding)


def _changes(function: Any) -> Iterator[_Changed]:
    """Yield bodies of a function with one change each, the likeliest first."""
    known = _Known(function)
    if next(islice(statements_in(function.body), MOST_STATEMENTS, None), None) is not None:
        return
    body = function.body
    found = chain(_of_scopes(body), _of_statement(body, known), _everywhere(body, known))
    every = [*islice(found, MOST_CHANGES)]
    every.sort(key=lambda each: _ORDER[each.kind])
    yield from every


_ORDER: dict[ChangeKind, int] = {
    "barrier": 0,
    "scope": 0,
    "operator": 1,
    "number": 2,
    "everywhere": 2,
    "extent": 3,
    "variable": 4,
    "buffer": 5,
    "index": 6,
    "axis": 7,
    "operand": 8,
    "condition": 9,
}


class _Known:
    """What a function has, which may stand in another place as well."""

    def __init__(self, function: Any) -> None:
        self.buffers = [each for each in function.params if _is_buffer(each)]
        self.numbers: set[int] = set()
        self.indices: dict[str, Any] = {}
        self.conditions: dict[str, Any] = {}
        for each in statements_in(function.body):
            kind = type(each).__name__
            if kind == "AllocBuffer":
                self.buffers.append(each.buffer)
            if kind == "IfThenElse":
                self.conditions.setdefault(quote(each.condition), each.condition)
                self._expression(each.condition)
            if kind == "BufferStore":
                self._indices(each.indices)
                self._expression(each.value)
            if kind == "For":
                self._number(each.extent)
        threads = [*threads_in(function.body)]
        self._axes = [each.tag for each in threads]
        for loop in threads:
            self._number(loop.extent)
        for buffer in self.buffers:
            for extent in buffer.ty.shape:
                self._number(extent)

    def axes_for(self, own: str) -> Iterator[str]:
        """Yield the axes that a loop of threads may be meant for.

        The only threads of a block stay threads: no kernel of blocks alone races, and a barrier
        in an `if` was mended by 4,096 blocks of one thread.
        """
        is_only = [own] == [each for each in self._axes if each.startswith("threadIdx")]
        for tag in ("blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y"):
            if tag != own and not (is_only and tag.startswith("blockIdx")):
                yield tag

    def _indices(self, indices: Any) -> None:
        for each in indices:
            self.indices.setdefault(quote(each), each)
            self._expression(each)

    def _number(self, value: Any) -> None:
        if type(value).__name__ == "IntImm":
            self.numbers.add(int(value.value))

    def _expression(self, value: Any) -> None:
        self._number(value)
        if type(value).__name__ == "TensorLoad":
            self._indices(value.indices)
        for each in _children(value):
            self._expression(each)


def _is_buffer(value: Any) -> bool:
    return hasattr(value.ty, "shape")


def _of_scopes(body: Any) -> Iterator[_Changed]:
    """Yield a body in which a buffer is kept in other memory."""
    for each in statements_in(body):
        if type(each).__name__ != "AllocBuffer":
            continue
        buffer, own = each.buffer, str(each.buffer.ty.storage_scope)
        for scope in ("shared", "local"):
            if scope != own:
                dtype, name = str(buffer.ty.dtype.dtype), f"{buffer.name}"
                kept = tirx.decl_buffer(list(buffer.ty.shape), dtype, name=name, scope=scope)
                made = tvm_ffi.structural_map(body, (tvm.ir.Var, _exchanged(buffer, kept)))
                yield _Changed(made, "scope", own or "global", scope, name)


def _everywhere(body: Any, known: _Known) -> Iterator[_Changed]:
    """Yield a body in which one number of an index is another one wherever that index stands.

    Who writes `bx * 32 + tx` for blocks of 128 threads writes so in the condition, the store and
    both loads.
    """
    for text, index in known.indices.items():
        for each in _of_expression(index, known, ()):
            if each.kind == "number" and hasattr(index, "a"):  # not each 0 of a kernel
                new, after = each.node, quote(each.node)
                places = (type(index), lambda e, t=text, n=new: n if quote(e) == t else e)
                made = tvm_ffi.structural_map(body, places)
                yield _Changed(made, "everywhere", text, after)


def _exchanged(old: Any, new: Any) -> Callable[[Any], Any]:
    return lambda each: new if each.same_as(old) else each


# --- statements -----------------------------------------------------------------------------------


def _of_statement(node: Any, known: _Known, loops: tuple[Any, ...] = ()) -> Iterator[_Changed]:
    """Yield a statement with one change each."""
    kind = type(node).__name__
    if kind == "BufferStore":
        yield from _of_store(node, known, loops)
    elif kind == "SeqStmt":
        yield from _of_sequence(node, known, loops)
    elif kind == "For" or (kind == "AttrStmt" and str(node.attr_key) == "thread_extent"):
        yield from _of_loop(node, known, loops)
    elif kind == "IfThenElse":
        yield from _of_condition(node, known, loops)


def _of_loop(node: Any, known: _Known, loops: tuple[Any, ...]) -> Iterator[_Changed]:
    """Yield a loop with one change each, or a launch of threads: `T.launch_thread`."""
    launched = type(node).__name__ == "AttrStmt"
    binding = node.node if launched else node.thread_binding
    variable, extent = (binding.var, node.value) if launched else (node.loop_var, node.extent)
    words = f"{variable.name}"
    for number in _numbers(extent, known):
        made = _loop(node, extent=tirx.const(number, extent.ty.dtype))
        yield _Changed(made, "extent", str(extent), str(number), words)
    if binding is not None:
        own = str(binding.thread_tag)
        for tag in known.axes_for(own):
            other = tirx.IterVar(None, binding.var, 1, tag)
            yield _Changed(_loop(node, binding=other), "axis", own, tag, words)
    elif _last(node.body):
        body = tirx.SeqStmt([node.body, _barrier()])
        yield _Changed(_loop(node, body=body), "barrier", _last(node.body), "", words)
    for each in _of_statement(node.body, known, (*loops, variable)):
        yield each._replace(node=_loop(node, body=each.node))


def _loop(node: Any, **changed: Any) -> Any:
    """Return a loop or a launch with another `extent`, `binding` or `body`."""
    body = changed.get("body", node.body)
    if type(node).__name__ == "AttrStmt":
        extent = changed.get("extent", node.value)
        return tirx.AttrStmt(changed.get("binding", node.node), node.attr_key, extent, body)
    extent = changed.get("extent", node.extent)
    rest = (changed.get("binding", node.thread_binding), node.annotations, node.step)
    return tirx.For(node.loop_var, node.min, extent, node.kind, body, *rest)


def _of_condition(node: Any, known: _Known, loops: tuple[Any, ...]) -> Iterator[_Changed]:
    text = f"if {quote(node.condition)}"
    for each in _of_expression(node.condition, known, loops):
        made = tirx.IfThenElse(each.node, node.then_case, node.else_case)
        before, after = quote(node.condition), quote(each.node)
        yield each._replace(node=made, statement=text, before=before, after=after)
    for each in _of_statement(node.then_case, known, loops):
        yield each._replace(node=tirx.IfThenElse(node.condition, each.node, node.else_case))
    if node.else_case is not None:
        for each in _of_statement(node.else_case, known, loops):
            yield each._replace(node=tirx.IfThenElse(node.condition, node.then_case, each.node))


def _of_sequence(node: Any, known: _Known, loops: tuple[Any, ...]) -> Iterator[_Changed]:
    statements = list(node.seq)
    for at, each in enumerate(statements):
        for changed in _of_statement(each, known, loops):
            made = [*statements[:at], changed.node, *statements[at + 1 :]]
            yield changed._replace(node=tirx.SeqStmt(made))
    for at in range(1, len(statements)):
        before, after = _last(statements[at - 1]), _first(statements[at])
        if before and after:
            made = [*statements[:at], _barrier(), *statements[at:]]
            yield _Changed(tirx.SeqStmt(made), "barrier", before, after)


def _of_store(node: Any, known: _Known, loops: tuple[Any, ...]) -> Iterator[_Changed]:
    text = quote_store(node)

    def store(value: Any = None, indices: Any = None) -> Any:
        value = node.value if value is None else value
        return tirx.BufferStore(node.buffer, value, indices or list(node.indices))

    whole = quote(node.value)
    for each in _of_expression(node.value, known, loops):
        made = each._replace(node=store(value=each.node), statement=text)
        if not each.is_element or text.count(each.before) > 1:
            made = made._replace(before=whole, after=quote(each.node))
        yield made
    name = str(node.buffer.name)
    for indices, each in _of_indices(node.indices, known, loops):
        texts = [quote_element(name, one) for one in (node.indices, indices)]
        made = each._replace(node=store(indices=indices), statement=text)
        yield made._replace(before=texts[0], after=texts[1])
    own = tirx.BufferLoad(node.buffer, list(node.indices))
    loads = [own, *(_load(each, node) for each in known.buffers)]
    before = quote(node.value)
    for load in loads:
        if load is None or load.ty.dtype != node.value.ty.dtype or quote(load) in before:
            continue
        value = load + node.value
        yield _Changed(store(value=value), "operand", before, quote(value), text)
    for words, condition in known.conditions.items():
        made = tirx.IfThenElse(condition, node, None)
        yield _Changed(made, "condition", text, f"if {words}", text)
    within = _within(node)
    if within is not None:
        made = tirx.IfThenElse(within, node, None)
        yield _Changed(made, "condition", text, f"if {quote(within)}", text)


def _load(buffer: Any, store: Any) -> Any:
    """Return the element of another buffer that a store's index names, None where it has none."""
    if len(buffer.ty.shape) != len(store.indices):
        return None
    return tirx.BufferLoad(buffer, list(store.indices))


def _within(store: Any) -> Any:
    """Return the condition that a store stays below the end of its buffer; None for two axes."""
    if len(store.indices) != 1:
        return None
    return tirx.LT(store.indices[0], store.buffer.ty.shape[0])


def _barrier() -> Any:
    return tirx.Evaluate(tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))


def _first(node: Any) -> str:
    return next((quote_store(e) for e in statements_in(node) if _is_store(e)), "")


def _last(node: Any) -> str:
    found = [quote_store(each) for each in statements_in(node) if _is_store(each)]
    return found[-1] if found else ""


def _is_store(node: Any) -> bool:
    return type(node).__name__ == "BufferStore"


# --- expressions ----------------------------------------------------------------------------------

_ARITHMETIC = ("Add", "Sub", "Mul", "Max", "Min")
_WHOLE = ("Add", "Sub", "Mul", "FloorDiv", "FloorMod")
_COMPARED = ("LT", "LE", "GT", "GE", "EQ", "NE")
_BITS = ("RShift", "LShift")


def _children(node: Any) -> list[Any]:
    kind = type(node).__name__
    if kind == "TensorLoad":
        return []
    if kind in ("Call",):
        return list(node.args)
    names = ("a", "b") if hasattr(node, "a") else ("value",) if kind == "Cast" else ()
    return [getattr(node, name) for name in names]


def _of_expression(node: Any, known: _Known, loops: tuple[Any, ...]) -> Iterator[_Changed]:
    """Yield an expression with one change each."""
    kind = type(node).__name__
    before = quote(node)
    if kind == "IntImm":
        for number in _numbers(node, known):
            yield _Changed(tirx.const(number, node.ty.dtype), "number", before, str(number))
    elif kind == "Var":
        for each in loops:
            if each.ty.dtype == node.ty.dtype and not each.same_as(node):
                yield _Changed(each, "variable", before, str(each.name))
    elif kind == "TensorLoad":
        yield from _of_load(node, known, loops)
    elif hasattr(node, "a"):
        yield from _of_operation(node, known, loops)
    elif kind == "Cast":
        for each in _of_expression(node.value, known, loops):
            yield each._replace(node=tirx.Cast(node.ty.dtype, each.node))


def _of_operation(node: Any, known: _Known, loops: tuple[Any, ...]) -> Iterator[_Changed]:
    kind, make = type(node).__name__, type(node)
    before = quote(node)
    is_whole = str(node.a.ty.dtype).startswith("int")
    for group in (_WHOLE if is_whole else _ARITHMETIC, _COMPARED, _BITS):
        if kind not in group:
            continue
        for other in group:
            if other != kind:
                made = getattr(tirx, other, None)
                if made is not None:
                    new = made(node.a, node.b)
                    yield _Changed(new, "operator", before, quote(new))
        new = make(node.b, node.a)
        yield _Changed(new, "operator", before, quote(new))
    for each in _of_expression(node.a, known, loops):
        yield each._replace(node=make(each.node, node.b))
    for each in _of_expression(node.b, known, loops):
        yield each._replace(node=make(node.a, each.node))


def _of_load(node: Any, known: _Known, loops: tuple[Any, ...]) -> Iterator[_Changed]:
    before, indices = quote(node), list(node.indices)
    for buffer in known.buffers:
        is_alike = len(buffer.ty.shape) == len(indices) and not buffer.same_as(node.source)
        if is_alike and buffer.ty.dtype == node.source.ty.dtype:
            new = tirx.BufferLoad(buffer, indices)
            yield _Changed(new, "buffer", before, quote(new), is_element=True)
    for changed, each in _of_indices(indices, known, loops):
        new = tirx.BufferLoad(node.source, changed)
        yield each._replace(node=new, before=before, after=quote(new), is_element=True)


def _of_indices(
    indices: Any, known: _Known, loops: tuple[Any, ...]
) -> Iterator[tuple[list[Any], _Changed]]:
    """Yield the indices of an element with one change each."""
    given = list(indices)
    for at, index in enumerate(given):
        for each in _of_expression(index, known, loops):
            yield [*given[:at], each.node, *given[at + 1 :]], each
        text = quote(index)
        for variable in loops:
            if variable.ty.dtype == index.ty.dtype and variable.name not in text:
                new = index + variable
                changed = _Changed(new, "operand", text, quote(new))
                yield [*given[:at], new, *given[at + 1 :]], changed
        for words, other in known.indices.items():
            if words != text and other.ty.dtype == index.ty.dtype:
                changed = _Changed(other, "index", text, words)
                yield [*given[:at], other, *given[at + 1 :]], changed
    for at in range(len(given) - 1):
        swapped = [*given[:at], given[at + 1], given[at], *given[at + 2 :]]
        before, after = (", ".join(map(quote, each)) for each in (given, swapped))
        yield swapped, _Changed(None, "index", before, after)


def _numbers(value: Any, known: _Known) -> Iterator[int]:
    """Yield numbers that may be meant by another one: near ones, and those of the function."""
    if type(value).__name__ != "IntImm":
        return
    own = int(value.value)
    near = [own - 1, own + 1, own // 2, 2 * own]
    for each in dict.fromkeys([*near, *sorted(known.numbers)]):
        if each != own and each >= 0:
            yield each
