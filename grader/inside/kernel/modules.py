"""IRModules and schedules: which are new, as they were at one moment, and their own calls.

`update_func`, and a Schedule before its first primitive, change an IRModule in place. Its functions
are kept in a map that TVM copies on write, so a shallow clone that shares the map stays as it is,
and a map that is still the same object means that nothing has changed.

The course's texts of 2023 call a TensorIR function of the module by its name,
`R.call_dps_packed("linear0", (x, w, b), out_sinfo=...)`. When it is run, TVM looks for the name
among the module's functions first, so that is the same as `R.call_tir(cls.linear0, ...)`.
"""

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Literal, NamedTuple

import msgspec
import tvm
from tvm import relax

from grader.inside.kernel.externs import called_names
from grader.inside.kernel.objects import Namespace, is_a, is_alive, is_module
from grader.messages.kernel import LINE_LIMIT, StepLine

_DPS = "relax.call_dps_packed"


def with_own_calls(module: Any) -> Any:
    """Return an IRModule in which `call_tir` calls what the module has itself.

    The same module where there is no other call of one of its PrimFuncs in `main`.
    """
    functions = {
        variable.name_hint: variable
        for variable, function in module.functions.items()
        if isinstance(function, tvm.tirx.PrimFunc)
    }
    main = next((each for each in module.functions if each.name_hint == "main"), None)
    if main is None or not isinstance(module[main], relax.Function):
        return module
    if called_names(module).isdisjoint(functions):
        return module
    mutator = _make_mutator(functions)
    changed = mutator.visit_expr(module[main])
    if not mutator.count:
        return module
    result = module.clone()
    result.update_func(main, changed)
    return result


def _make_mutator(functions: dict[str, Any]) -> Any:
    @relax.expr_functor.mutator
    class OwnCalls(relax.PyExprMutator):  # type: ignore[misc]
        count = 0

        def visit_call_(self, call: Any) -> Any:
            name = _packed_name(call)
            if name not in functions:
                return super().visit_call_(call)
            self.count += 1
            arguments = self.visit_expr(call.args[1])
            return relax.op.call_tir(functions[name], arguments, list(call.ty_args))

    return OwnCalls()


def _packed_name(call: Any) -> str | None:
    """Return the name of the packed function that a call in destination-passing style calls."""
    if not isinstance(call.op, tvm.ir.Op) or call.op.name != _DPS:
        return None
    called = call.args[0]
    return str(called.global_symbol) if isinstance(called, relax.ExternFunc) else None


class Snapshot:
    """An IRModule as it is now. Later changes in place do not reach it.

    Two are equal that have the same content, and not a copy of it.
    """

    def __init__(self, module: Any) -> None:
        self.module = tvm.IRModule.clone(module)
        self._parts = _shared_parts(self.module)

    @property
    def key(self) -> tuple[int, ...]:
        """Identity of the content; it is unique for as long as the snapshot lives."""
        return tuple(int(part.__chandle__()) for part in self._parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def is_current(self, module: Any) -> bool:
        """Say whether `module` still has this content."""
        return self.key == tuple(int(part.__chandle__()) for part in _shared_parts(module))


class ModuleDocument(msgspec.Struct, frozen=True):
    """A module as TVM's graph JSON, with the SHA-256 of it."""

    content: bytes
    digest: bytes


@functools.lru_cache(maxsize=6)  # one module often has several names
def document_of(snapshot: Snapshot) -> ModuleDocument:
    """Return the graph JSON. Raises what TVM raises for a module that cannot be saved."""
    content = tvm.ir.save_json(with_own_calls(snapshot.module)).encode()
    return ModuleDocument(content, hashlib.sha256(content).digest())


def _shared_parts(module: Any) -> tuple[Any, ...]:
    parts = (module.functions, module.attrs, module.global_infos)
    return tuple(part for part in parts if part is not None)


Holds = Literal["model", "function"]
"""A module with a Relax `main`, or any with a PrimFunc, and a PrimFunc by itself (EntrySpec)."""

Unwrap = Callable[[object], Any]


def module_of(value: Any, holds: Holds) -> Any:
    """Return the IRModule that a value is, or that holds the PrimFunc that it is; None for others.

    A lone PrimFunc keeps its `global_symbol` as its name; without one it is called `main`.
    """
    if is_alive(value, tvm.IRModule):
        return value if _counts(value, holds) else None
    if holds == "function" and is_alive(value, tvm.tirx.PrimFunc):
        return tvm.IRModule.from_expr(value)
    return None


def module_within(value: Any, holds: Holds) -> Any:
    """Return the IRModule of what was asked for by name: whatever is in it, the referee tells.

    A BlockBuilder, a Schedule and a class with functions of Python stand for their module. None for
    what is or has no module.
    """
    value = _behind_python(value)
    if is_alive(value, tvm.IRModule):
        return value
    if is_alive(value, tvm.relax.BlockBuilder):
        return tvm.relax.BlockBuilder.get(value)
    if is_alive(value, tvm.s_tir.Schedule):
        return value.mod
    return module_of(value, holds)


_PYTHON_MODULES = ("tvm.relax.base_py_module", "tvm.script.parser.ir.entry")
"""Where TVM defines what a class of `BasePyModule` becomes, before and after it is called."""


def _behind_python(value: Any) -> Any:
    """Return the IRModule of a class of `BasePyModule`; any other value as it is."""
    if type(value).__module__ not in _PYTHON_MODULES:
        return value
    held = object.__getattribute__(value, "__dict__")
    return held.get("ir_module", held.get("ir_mod", value))


def schedule_base(given: Any) -> Any:
    """Return the module that a Schedule of `given` starts from, None if it holds no PrimFunc.

    TVM calls a lone PrimFunc `main` there, whatever its `global_symbol` is.
    """
    if is_alive(given, tvm.tirx.PrimFunc):
        return tvm.IRModule({"main": given})
    return given if module_of(given, "function") is not None else None


def is_schedule(value: Any, holds: Holds) -> bool:
    """Say whether a value is a Schedule of what counts as a module."""
    return is_alive(value, tvm.s_tir.Schedule) and module_of(value.mod, holds) is not None


class BoundModules:
    """The modules bound to names, and which of them are new since the last look.

    `unwrap` returns the IRModule that a value counts by, or None.
    """

    def __init__(self, unwrap: Unwrap) -> None:
        self._unwrap = unwrap
        self._seen: dict[str, tuple[object, Snapshot]] = {}

    def news(self, values: Namespace) -> dict[str, Snapshot]:
        """Return the modules that were bound anew or changed in place."""
        fresh: dict[str, Snapshot] = {}
        for name in self._seen.keys() - values.keys():
            del self._seen[name]
        for name, value in values.items():
            seen = self._seen.pop(name, None)
            if seen is None or seen[0] is not value or not self._is_current(*seen):
                module = self._unwrap(value)
                seen = None if module is None else (value, Snapshot(module))
                if seen is not None:
                    fresh[name] = seen[1]
            if seen is not None:
                self._seen[name] = seen
        return fresh

    def __len__(self) -> int:
        return len(self._seen)

    def _is_current(self, value: object, seen: Snapshot) -> bool:
        if is_a(value, tvm.tirx.PrimFunc):  # it never changes
            return True
        module = value if is_alive(value, tvm.IRModule) else self._unwrap(value)
        return module is not None and seen.is_current(module)


def _counts(module: Any, holds: Holds) -> bool:
    if holds == "model":
        return is_module(module)
    functions = tvm.IRModule.functions.__get__(module, tvm.IRModule)
    return any(is_a(function, tvm.tirx.PrimFunc) for function in functions.values())


LIVE_LIMIT = 32
"""Schedules of models that are kept, and as many of others; the oldest that no name is bound to
are let go first."""


class _Note(NamedTuple):
    """Where the steps were written up to which a trace has so many instructions."""

    instructions: int
    filename: str
    line: int


Here = Callable[[], "tuple[str, int] | None"]
"""Returns the file and line of the notebook that are running."""

LineAt = Callable[[str, int], StepLine]
"""Returns the line of a cell for what `Here` has returned."""


class SeenSchedule:
    """A Schedule that was seen. `base` is None when it was made where it could not be watched.

    `is_model` says whether its module has a Relax `main`.
    """

    def __init__(self, schedule: Any, base: Snapshot | None) -> None:
        self.schedule = schedule
        self.base = base
        self.notes: list[_Note] = []
        self.is_model = module_of(schedule.mod, "model") is not None

    def trace(self) -> bytes | None:
        """Return the trace as JSON, None where there is none or where JSON cannot hold it.

        Without its trace the module is still worth something.
        """
        trace = self.schedule.trace
        try:
            return None if trace is None else json.dumps(trace.as_json(), default=_number).encode()
        except TypeError:
            return None

    def lines(self, line_at: LineAt) -> tuple[StepLine, ...]:
        """Return where each instruction of the trace was written, as far as that is known."""
        lines: list[StepLine] = []
        for note in self.notes:
            lines += [line_at(note.filename, note.line)] * (note.instructions - len(lines))
        return tuple(lines[:LINE_LIMIT])


class ScheduleLedger:
    """Keeps the schedules of modules and PrimFuncs, wherever in the notebook they were made.

    Before the first primitive `schedule.mod` is the very module that was given to it, so the base
    is taken while the Schedule is being made.
    """

    def __init__(self, is_named: Callable[[object], bool], here: Here = lambda: None) -> None:
        self._known: dict[int, SeenSchedule] = {}
        self._is_named = is_named
        self._here = here
        self._detach: Callable[[], None] = lambda: None

    def attach(self) -> None:
        """Begin to watch."""
        kind = tvm.s_tir.Schedule
        construct, copy = kind.__init__, kind.copy

        @functools.wraps(construct)
        def __init__(self_: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            __tracebackhide__ = True  # the student's own line is what they are to see
            given = args[0] if args else kwargs.get("mod")
            module = schedule_base(given)
            base = None if module is None else Snapshot(module)
            construct(self_, *args, **kwargs)
            if base is not None:
                self._add(self_, base)

        @functools.wraps(copy)
        def copied(self_: Any) -> Any:
            __tracebackhide__ = True
            made = copy(self_)
            known = self._known.get(self_.__chandle__())
            if known is not None:
                self._add(made, known.base).notes = list(known.notes)
            return made

        before = {name: each for name, each in vars(kind).items() if _is_step(name, each)}
        ours = {name: self._noting(each) for name, each in before.items()}
        _set_methods(kind, {**ours, "__init__": __init__, "copy": copied})
        self._detach = lambda: _set_methods(kind, {**before, "__init__": construct, "copy": copy})

    def _noting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of Schedule that has noted, at its end, where it was called."""

        @functools.wraps(method)
        def noted(self_: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            result = method(self_, *args, **kwargs)
            with contextlib.suppress(Exception):  # nothing of it may reach the cell
                self._note(self_)
            return result

        return noted

    def _note(self, schedule: Any) -> None:
        known, here = self._known.get(schedule.__chandle__()), self._here()
        if known is None or here is None or schedule.trace is None:
            return
        count = len(schedule.trace.insts)
        if count > (known.notes[-1].instructions if known.notes else 0):
            known.notes.append(_Note(count, *here))

    def detach(self) -> None:
        """Stop watching, and leave TVM as it was."""
        self._detach()

    def all(self, holds: Holds) -> list[SeenSchedule]:
        """Return those kept whose module counts as one, oldest first."""
        return [known for known in self._known.values() if known.is_model or holds == "function"]

    def find(self, schedule: Any) -> SeenSchedule:
        """Return what is known of a schedule; it is kept from now on."""
        key = schedule.__chandle__()
        if key not in self._known:
            self._add(schedule, None)
        return self._known[key]

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Forget, at the end, every schedule that is made in the body."""
        before = dict(self._known)
        try:
            yield
        finally:
            self._known = before

    def _add(self, schedule: Any, base: Snapshot | None) -> SeenSchedule:
        added = self._known[schedule.__chandle__()] = SeenSchedule(schedule, base)
        alike = [key for key, known in self._known.items() if known.is_model == added.is_model]
        if len(alike) > LIVE_LIMIT:  # examples on lone functions must not drive out the model's
            idle = (key for key in alike if not self._is_named(self._known[key].schedule))
            del self._known[next(idle, alike[0])]
        return added


def _number(value: Any) -> int | float:
    """Return the number that TVM wrapped: factors may stand in a trace as constants of its own."""
    if not isinstance(value, tvm.tirx.IntImm | tvm.tirx.FloatImm):
        raise TypeError(f"a trace with an object of type {type(value).__name__}")
    number: int | float = value.value
    return number


def _is_step(name: str, value: object) -> bool:
    return isinstance(value, FunctionType) and not name.startswith("_") and name != "copy"


def _set_methods(kind: Any, methods: dict[str, Any]) -> None:
    for name, method in methods.items():
        setattr(kind, name, method)
