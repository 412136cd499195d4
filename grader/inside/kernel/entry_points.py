"""Entry points, functions of the notebook that are called at the end of a cell, and with what."""

import asyncio
import contextlib
import dis
import functools
import inspect
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CoroutineType, FunctionType
from typing import Any, Literal

import msgspec
import numpy as np
import tvm

from grader.inside.kernel.compatibility import refused_variable
from grader.inside.kernel.externs import ExternRegistry
from grader.inside.kernel.faults import Cells, Faults, Place, describe_error, error_name
from grader.inside.kernel.modules import (
    Holds,
    ScheduleLedger,
    SeenSchedule,
    Snapshot,
    is_schedule,
    module_within,
)
from grader.inside.kernel.objects import (
    Fingerprint,
    Namespace,
    fingerprint,
    is_exactly,
    is_notebook_callable,
    rank_of,
    ranked,
    type_name,
)
from grader.inside.kernel.refused import refused_module
from grader.inside.kernel.sender import Sender, SentModule
from grader.messages.kernel import ArgumentSpec, CaptureFailure, LoopVariable

# What an entry point is called with: values of the notebook, by the names of its parameters.
#
# Where the notebook has nothing of that name, what the assignment declares takes its place.


_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Supply(ABC):
    """Where the arguments of an entry point come from: not from the notebook, unless it says so."""

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the names of the notebook that a call takes values from."""
        del signature
        return ()

    def stand_in(self, name: str) -> object | None:
        """Return what is given for a name that the notebook lacks, or stands for it; else None.

        It is another object when what is given is no longer the same.
        """
        del name
        return None

    @abstractmethod
    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the arguments of one call; what is needed is in `namespace` or stood in for."""


class NotebookSupply(Supply):
    """Takes every parameter without a default from the notebook, or what is declared for its name.

    `modules` has the module that the notebook made last under a name that was asked for, by part:
    it changes while the notebook runs.
    """

    def __init__(
        self, declared: tuple[ArgumentSpec, ...] = (), modules: Mapping[str, Snapshot] | None = None
    ) -> None:
        self._declared = declared
        self._modules = {} if modules is None else modules

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the parameters without a default."""
        return required(signature)

    def stand_in(self, name: str) -> object | None:
        """Return the module that is given, or for other values what declares them."""
        found = self._find(name)
        if found is None or found.meaning != "module":
            return found
        snapshot = self._modules.get(found.part)
        return None if snapshot is None else snapshot.module

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the notebook's values, and where it has none a value that a call may spoil.

        Raises what reading the file of parameters raises.
        """
        values = {
            name: namespace[name] if name in namespace else self._value(name)
            for name in required(signature)
        }
        return bind(signature, values)

    def _find(self, name: str) -> ArgumentSpec | None:
        ranks = [(rank_of(name, each.names), each) for each in self._declared]
        found = [(rank, each) for rank, each in ranks if rank is not None]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def _value(self, name: str) -> object:
        spec = self._find(name)
        assert spec is not None  # whoever calls has seen that there is a stand-in
        if spec.meaning == "parameters":
            with Path(spec.file).open("rb") as file:  # the course's own, or what is left of it
                return pickle.load(file)  # noqa: S301 - in the student's process
        if spec.meaning == "image":
            return np.random.default_rng(0).random(spec.shape, dtype="float32")
        if spec.meaning == "module":
            return tvm.IRModule.clone(self._modules[spec.part].module)
        return spec.shape[0] if spec.meaning == "batch_size" else spec.shape


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of a callable, an empty one where it is unknown."""
    try:
        return inspect.signature(function)
    except Exception:  # noqa: BLE001 - a student's object may lie about its signature
        return inspect.Signature()


def required(signature: inspect.Signature) -> tuple[str, ...]:
    """Return the parameters without a default, without those that collect what is left over."""
    return tuple(name for name in single(signature) if not _is_optional(signature, name))


def single(signature: inspect.Signature) -> tuple[str, ...]:
    """Return the parameters that take one value each."""
    return tuple(
        each.name for each in signature.parameters.values() if each.kind not in _COLLECTING
    )


def bind(signature: inspect.Signature, values: Namespace) -> inspect.BoundArguments:
    """Return a call's arguments from values by parameter. Raises TypeError where it cannot be."""
    left = dict(values)
    positional = [
        left.pop(each.name)
        for each in signature.parameters.values()
        if each.kind is inspect.Parameter.POSITIONAL_ONLY and each.name in left
    ]
    return signature.bind(*positional, **left)


def _is_optional(signature: inspect.Signature, name: str) -> bool:
    return signature.parameters[name].default is not inspect.Parameter.empty


SLOW_SECONDS = 10.0
"""A function that took longer is called again only once it is another function."""

CALL_LIMIT = 40
"""Calls of one function object; more would mean that it depends on what always changes."""


Reason = Literal["raised", "unsolved", "not_a_module", "needs_arguments"]
Arguments = Callable[[Namespace], inspect.BoundArguments]
IsCallable = Callable[[object, Namespace, tuple[str, ...]], bool]


class Complaint(msgspec.Struct, frozen=True):
    """What a call raised: the error's class, one line of it, and where it was raised.

    `loop_variable` is there where it was TVM's refusal of one, `refused` where it was a module's.
    """

    error: str
    message: str
    place: Place | None
    loop_variable: LoopVariable | None = None
    refused: bytes = b""


class EntryResult(msgspec.Struct, frozen=True, eq=False):
    """What a call gave. `module` is None after an error and when no module came back.

    `returned` is the name of the returned value's type, `known` the schedule that it was, if any.
    """

    returned: str = ""
    module: Snapshot | None = None
    known: SeenSchedule | None = None
    complaint: Complaint | None = None
    registered: Mapping[str, object] = {}


def awaited(value: Any) -> Any:
    """Return what a coroutine returns, and any other value as it is.

    The kernel's own loop is running, and waits for this: for the while, neither it nor its task is
    the current one. From Python 3.14 on a thread has one current task, whatever the loop: a second
    one is refused inside of the new loop, which then waits for ever.
    """
    if type(value) is not CoroutineType:
        return value
    running, loop = asyncio._get_running_loop(), asyncio.new_event_loop()
    task = None if running is None else asyncio.current_task(running)
    if running is not None and task is not None:
        asyncio.tasks._leave_task(running, task)
    asyncio._set_running_loop(None)
    try:
        return loop.run_until_complete(value)
    finally:
        asyncio._set_running_loop(running)
        if running is not None and task is not None:
            asyncio.tasks._enter_task(running, task)
        loop.close()


_IDLE = frozenset({"RESUME", "NOP", "LOAD_CONST", "POP_TOP", "RETURN_CONST", "RETURN_VALUE"})
"""Operations of a function whose body is `...`, `pass`, a docstring or nothing but comments."""


def does_nothing(function: object) -> bool:
    """Say whether a function is left as the handout has it, with nothing in its body."""
    if type(function) is not FunctionType:
        return False
    return {each.opname for each in dis.get_instructions(function.__code__)} <= _IDLE


class _Calls(msgspec.Struct):
    """What is remembered of one entry point between cells."""

    function: object
    seen: Fingerprint
    cell: int
    count: int = 0
    seconds: float = 0.0
    failed: bool = False
    revision: int = 0


class EntryCaller:
    """Calls functions of the notebook so that the notebook notices nothing of it."""

    def __init__(
        self,
        shell: Any,
        cells: Cells,
        registry: ExternRegistry,
        ledger: ScheduleLedger,
        quiet: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        self.shell = shell
        self.cells = cells
        self.registry = registry
        self._ledger = ledger
        self._quiet = quiet

    def call(self, function: Any, arguments: Arguments, holds: Holds) -> EntryResult:
        """Call a function with the arguments for a namespace, and take out the module it returns.

        What it left behind goes while all is still quiet: TVM prints when half a builder is freed.
        """
        with self._quiet(), self._ledger.aside(), self.registry.aside() as registered:
            try:
                bound = arguments(self.shell.user_ns)
                value = awaited(function(*bound.args, **bound.kwargs))
                return self._read(value, holds, registered)
            except BaseException as error:  # noqa: BLE001 - whatever it raises is its author's matter
                place = self.cells.locate(error)
                told, found = describe_error(error), refused_variable(error)
                module = refused_module(error)
                complaint = Complaint(error_name(error), told, place, found, module)
                return EntryResult(complaint=complaint)

    def _read(self, value: Any, holds: Holds, registered: Mapping[str, object]) -> EntryResult:
        """Find a module in what was returned: it, or the first in a tuple, list or dictionary."""
        held: list[object] = []
        if is_exactly(value, tuple, list, dict):
            held = list(value.values() if type(value) is dict else value)
        for item in (value, *held):
            module = module_within(item, holds)
            if module is not None:
                known = self._ledger.find(item) if is_schedule(item, holds) else None
                return EntryResult(module=Snapshot(module), known=known, registered=registered)
        return EntryResult(returned="None" if value is None else type_name(value))


def takes_module(function: object, names: tuple[str, ...], namespace: Namespace) -> bool:
    """Say whether a function has one parameter, which takes a module: of `names`, or a name that
    the notebook has a module under. So it can be called, and is no helper on parts of one."""
    needed = required(signature_of(function))
    if len(needed) != 1:
        return False
    if needed[0] in namespace:
        return issubclass(type(namespace[needed[0]]), tvm.IRModule)
    return rank_of(needed[0], names) is not None


class EntryPoints:
    """The functions whose names match a part's patterns."""

    def __init__(
        self,
        part: str,
        names: tuple[str, ...],
        caller: EntryCaller,
        sender: Sender,
        faults: Faults,
        holds: Holds = "model",
        supply: Supply | None = None,
        is_callable: IsCallable = is_notebook_callable,
    ) -> None:
        self._is_callable = is_callable
        self._holds = holds
        self._supply = NotebookSupply() if supply is None else supply
        self._part = part
        self._names = names
        self._caller = caller
        self._sender = sender
        self._faults = faults
        self._calls: dict[str, _Calls] = {}

    def sweep(self, values: Namespace) -> None:
        """Call the entry points that are due, exact names first."""
        self.call(self.present(values))

    def call(self, functions: Mapping[str, object]) -> None:
        """Call those of some functions, by the names of entry points, that are due."""
        for name, function in functions.items():
            with self._faults.shielded():
                self._consider(name, function)

    def present(self, values: Namespace) -> Namespace:
        """Return the entry points that are defined now, exact names first."""
        namespace: Namespace = self._caller.shell.user_ns
        return {
            name: values[name]
            for name in ranked(values, self._names)
            if self._is_callable(values[name], namespace, self._sender.folders)
        }

    def _consider(self, name: str, function: object) -> None:
        """Call an entry point if what it depends on has changed since it was called last."""
        signature = signature_of(function)
        namespace: Namespace = self._caller.shell.user_ns
        needed = self._supply.needed(signature)
        lacking = [parameter for parameter in needed if parameter not in namespace]
        given = {name: self._supply.stand_in(name) for name in lacking}
        now = fingerprint(
            function, needed, namespace, self._sender.folders, given=tuple(given.values())
        )
        calls = self._calls.get(name)
        if calls is None or calls.function is not function:
            calls = self._calls[name] = _Calls(function, now, self._caller.cells.number)
        elif not self._is_due(calls, now):
            return
        calls.seen, calls.revision = now, self._caller.registry.revision
        missing = [name for name, value in given.items() if value is None]
        if missing:
            complaint = Complaint("", ", ".join(missing), None)
            self._complain(name, calls.cell, "needs_arguments", complaint)
            return
        self._call(name, calls, signature)

    def _is_due(self, calls: _Calls, now: Fingerprint) -> bool:
        if calls.seconds > SLOW_SECONDS or calls.count >= CALL_LIMIT:
            return False
        registered = calls.failed and calls.revision != self._caller.registry.revision
        return registered or now.tokens != calls.seen.tokens

    def _call(self, name: str, calls: _Calls, signature: inspect.Signature) -> None:
        started = time.monotonic()
        arguments = functools.partial(self._supply.bind, signature)
        result = self._caller.call(calls.function, arguments, self._holds)
        calls.count, calls.seconds = calls.count + 1, time.monotonic() - started
        calls.failed = result.module is None
        if result.complaint is not None:
            self._complain(name, calls.cell, "raised", result.complaint)
        elif result.module is None:
            complaint = Complaint(result.returned, result.returned, None)
            is_stub = result.returned == "None" and does_nothing(calls.function)
            self._complain(name, calls.cell, "unsolved" if is_stub else "not_a_module", complaint)
        else:
            self._offer(name, result, result.module)

    def _offer(self, name: str, result: EntryResult, module: Snapshot) -> None:
        known = result.known
        self._sender.offer(
            SentModule(
                part=self._part,
                name=name,
                by_name=True,
                module=module,
                base=None if known is None else known.base,
                trace=None if known is None else known.trace(),
                lines=() if known is None else self._sender.lines(known),
                registered=result.registered,
                earlier=dict(self._caller.registry.functions),
            )
        )

    def _complain(self, name: str, cell: int, reason: Reason, complaint: Complaint) -> None:
        """Report a failure of the function that was defined in a cell."""
        place = complaint.place
        self._sender.fail(
            CaptureFailure(
                part=self._part,
                name=name,
                cell=cell if place is None else place.cell,
                reason=reason,
                error_name=complaint.error,
                message=complaint.message,
                line=None if place is None else place.line,
                loop_variable=complaint.loop_variable,
                refused=complaint.refused,
            )
        )
