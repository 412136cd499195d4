"""TraceModule: run a module in a child, and keep the value of every step.

A copy of the module is run in which a function of the runner's own is called after every step, and
is given its value: so each value is copied when it is made, under its own variable. What comes
later, a failure or a call that works in place, cannot take it back, and calls are not fused, as
what is seen between them must exist.

The child is a copy of the runner, in the same sandbox. It builds the module, which takes nearly all
of the time, and has its own child for each pass. All of them end with the runner.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, get_args

import msgspec
import numpy as np
import tvm

from grader.inside.common.arguments import (
    Arguments,
    Values,
    check_signature,
    module_to_run,
    unpack_arguments,
)
from grader.inside.common.failure import TaskError, stage
from grader.inside.common.modules import load_module
from grader.inside.common.poison import Poison, as_array, is_poisoned
from grader.inside.launcher.linux import die_with_parent
from grader.inside.runner.evaluation import Evaluator, extern_names, load_externs
from grader.inside.runner.model import (
    OUTPUT_LIMIT,
    Main,
    build_main,
)
from grader.inside.runner.steps import Buffers, expose, watched
from grader.messages.frames import (
    RUNNER_FRAME_LIMIT,
    Array,
    Count,
    DType,
    FrameError,
    Message,
    decode_payload,
    encode_frame,
    pack_array,
    read_frame,
    unpack_array,
)
from grader.messages.runner import (
    FailureCode,
    RunModule,
    TaskFailure,
    TracedPass,
    TracedStep,
    TraceModule,
    TraceResult,
)

T = TypeVar("T")
Send = Callable[[Message], None]


def work_apart(
    work: Callable[[Send], None], expected: type[T], limit: int, take: Callable[[T], None]
) -> TaskFailure | None:
    """Do some work in a child; hand each message that it sends to `take`, at most `limit` of them.

    Returns why it ended early if it did. Errors of the work end the child: what they say is the
    work's to send.
    """
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        ours.close()
        _work(work, theirs, parent)
    theirs.close()
    with ours:
        for message in _received(ours, expected, limit):
            take(message)
    return _failure(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _work(work: Callable[[Send], None], connection: socket.socket, parent: int) -> None:
    """Do the work, and end this process whatever happens."""
    status = 1
    try:
        die_with_parent(signal.SIGKILL, parent)
        work(lambda message: connection.sendall(encode_frame(message)))
        status = 0
    finally:
        os._exit(status)


def _received(connection: socket.socket, expected: type[T], limit: int) -> Iterator[T]:
    for _ in range(limit):
        try:
            payload = read_frame(connection, RUNNER_FRAME_LIMIT)
            if payload is None:
                return
            message = decode_payload(payload, expected)
        except (FrameError, ConnectionError):
            return  # it ended while it was saying something
        yield message


def _failure(status: int) -> TaskFailure | None:
    if status == 0:
        return None
    name: FailureCode = "TimeLimit" if status == -signal.SIGXCPU else "Died"
    return TaskFailure("run", name, "The process that ran the module ended.")


WATCHER = "grader.trace.step"
"""Name of the function that is called after every step."""


class _Seen(Message, frozen=True):
    """The value of one step in one call, None where no message carries anything like it."""

    call: Count
    step: Count
    value: Array | None
    is_unwritten: bool


class _Ended(Message, frozen=True):
    """The end of one pass, and what ended it early."""

    failure: TaskFailure | None


def trace_module(task: TraceModule, evaluator: Evaluator | None = None) -> TraceResult:
    """Do the task. Raises TaskError where it is not even known which steps there are.

    The module is built and run in its own process, so that its crash takes nothing with it.
    With an evaluator there is one pass at most: it remembers what it is given.
    """
    run = task.run
    if evaluator is not None and len(task.passes) > 1:
        raise TaskError("decode", "FrameError", "Externs are called in one pass alone.")
    with stage("decode"):
        arguments = unpack_arguments(run)
    with stage("load"):
        given = load_module(run.module) if run.module else None
        buffers = None if given is None else expose(given, run)
    if buffers is not None:
        given = buffers.module
        run = msgspec.structs.replace(run, outputs=(*run.outputs, *buffers.added))
    module = module_to_run(given, run)
    check_signature(module, arguments)
    name = _free_name(module)
    with stage("build"):
        copy, steps = watched(module, name)

    with stage("decode"):
        passes = [{each.step: unpack_array(each.value) for each in one} for one in task.passes]
    room = OUTPUT_LIMIT // len(passes)
    # A pass is a child of the process that built: the threads of a pool would be left behind there,
    # and a parallel loop would wait for them.
    run = msgspec.structs.replace(run, threads=1)

    def work(send: Send) -> None:
        watcher = _Watcher(name, steps, room)
        try:
            with _built(copy, run, watcher, evaluator, cleared=task.cleared) as main:
                for corrections in passes:
                    send(_Ended(_pass(main, arguments, watcher, corrections, send)))
        except TaskError as error:
            send(error.as_failure())

    said: list[_Seen | TaskFailure | _Ended] = []
    limit = len(passes) * (len(steps) * arguments.calls + 2)
    died = work_apart(work, _Seen | TaskFailure | _Ended, limit, said.append)  # type: ignore[arg-type]
    return TraceResult(
        tuple(
            TracedPass(_described(run, buffers, _traced(steps, seen)), failure)
            for seen, failure in _by_pass(said, len(passes), died)
        )
    )


def _by_pass(
    said: Sequence[_Seen | TaskFailure | _Ended], passes: int, died: TaskFailure | None
) -> Iterator[tuple[list[_Seen], TaskFailure | None]]:
    """Yield what was seen in each pass, and what ended it early: it, or all that were to come."""
    seen: list[_Seen] = []
    failure: TaskFailure | None = None
    for each in said:
        if isinstance(each, _Seen):
            seen.append(each)
        elif isinstance(each, TaskFailure):
            failure = failure or each
        else:
            yield seen, failure or each.failure
            seen, failure, passes = [], None, passes - 1
    for _ in range(passes):
        yield seen, failure or died
        seen = []


@contextmanager
def _built(
    module: tvm.IRModule,
    run: RunModule,
    watcher: _Watcher,
    evaluator: Evaluator | None,
    *,
    cleared: bool,
) -> Iterator[Main]:
    """Build the module with the watcher in it; within the context it can be called."""
    poison = Poison(cleared=cleared)
    # The watcher is announced as a stub would be: it is no function of the student's.
    stubs = {**run.stubs, watcher.name: 0}
    externs = load_externs(module, run.externs, stubs, evaluator, poison)
    externs.add(watcher.name, watcher.see)
    with externs.registered():
        yield build_main(module, run, externs, poison)


def _pass(
    main: Main,
    arguments: Arguments,
    watcher: _Watcher,
    corrections: Mapping[int, Values],
    tell: Send,
) -> TaskFailure | None:
    """Make all calls in a child, with some corrections; `tell` what is seen, as it comes.

    Returns how the child ended, if it did before its end.
    """

    def work(send: Send) -> None:
        watcher.start(send, corrections)
        try:
            with stage("run"):
                for number in range(arguments.calls):
                    watcher.begin()
                    main(arguments.of_call(number), number)
        except TaskError as error:
            send(error.as_failure())

    limit = len(watcher.steps) * arguments.calls + 1
    return work_apart(work, _Seen | TaskFailure, limit, tell)  # type: ignore[arg-type]


def _described(
    run: RunModule, buffers: Buffers | None, steps: tuple[TracedStep, ...]
) -> tuple[TracedStep, ...]:
    """Return the steps under the names of what was given, where a `main` was put around it."""
    if buffers is not None:
        return buffers.in_order(steps)
    return steps if run.module else _of_python(steps)


def _free_name(module: tvm.IRModule) -> str:
    """Return a name for the watcher that nothing in the module goes by."""
    taken = extern_names(module)
    name = WATCHER
    while name in taken or tvm.get_global_func(name, allow_missing=True) is not None:
        name += "_"
    return name


def _of_python(steps: Sequence[TracedStep]) -> tuple[TracedStep, ...]:
    """Name the outputs of a Python function, which have no variable."""
    count = len(steps)
    return tuple(
        msgspec.structs.replace(
            each,
            variable="output" if count == 1 else f"output {place}",
            binding=None,
        )
        for place, each in enumerate(steps, start=1)
    )


class _Watcher:
    """Is given the values of a module's steps, in their order, sends them on, and corrects them."""

    def __init__(self, name: str, steps: Sequence[TracedStep], room: int) -> None:
        self.name = name
        self.steps = steps
        self._room = room
        self._corrections: Mapping[int, Values] = {}
        self._send: Send | None = None
        self._call, self._number = -1, 0
        self._poisoned: set[int] = set()

    def start(self, send: Send, corrections: Mapping[int, Values]) -> None:
        """Start a pass, in its own process; `corrections` are for all of its calls."""
        self._send, self._corrections = send, corrections

    def begin(self) -> None:
        self._call, self._number = self._call + 1, 0
        self._poisoned.clear()

    def see(self, arguments: Sequence[Any]) -> None:
        """Take down the next value. Raises TaskError when all are too large together."""
        number, tensor = self._number, arguments[0]
        if number >= len(self.steps):
            return  # a function that `main` calls calls it again
        self._number += 1
        value = _copy(tensor)
        self._room -= 0 if value is None else value.nbytes
        if self._room < 0:
            raise TaskError("run", "TooLarge", "The values of all steps are too large together.")
        packed = None if value is None else pack_array(value)
        assert self._send is not None
        self._send(_Seen(self._call, number, packed, self._is_unwritten(number, tensor)))
        if number in self._corrections:
            self._correct(number, tensor)

    def _correct(self, number: int, tensor: Any) -> None:
        """Write another value over that of a step. Raises TaskError for one that does not fit."""
        values = self._corrections[number]
        if self._call >= len(values):
            raise TaskError("run", "DoesNotFit", "A step has no correction for this call.")
        value = values[self._call]
        if (str(tensor.dtype), tuple(tensor.shape)) != (str(value.dtype), value.shape):
            raise TaskError("run", "DoesNotFit", "A step has another shape than its correction.")
        tensor.copyfrom(value)
        self._poisoned.discard(number)

    def _is_unwritten(self, number: int, tensor: Any) -> bool:
        """Say whether a step left its output as it was, and did not only pass that on."""
        if not is_poisoned(tensor, self._call):
            return False
        self._poisoned.add(number)
        return not self._poisoned & set(self.steps[number].takes)


def _copy(tensor: Any) -> Values | None:
    """Return a copy of a tensor's values, None where no message carries anything like them."""
    if str(tensor.dtype) not in get_args(DType):
        return None
    return np.array(as_array(tensor))


def _traced(steps: Sequence[TracedStep], seen: Sequence[_Seen]) -> tuple[TracedStep, ...]:
    columns: list[list[_Seen]] = [[] for _ in steps]
    for each in seen:
        columns[each.step].append(each)
    return tuple(
        msgspec.structs.replace(
            step,
            values=_joined([each.value for each in column if each.value is not None]),
            is_unwritten=any(each.is_unwritten for each in column),
        )
        for step, column in zip(steps, columns, strict=True)
    )


def _joined(values: Sequence[Array]) -> Array | None:
    """Return the values of one step in the calls that reached it; None where they do not fit."""
    if not values or len({(each.shape, each.dtype) for each in values}) != 1:
        return None
    data = b"".join(each.data for each in values)
    return Array(values[0].dtype, (len(values), *values[0].shape), data)
