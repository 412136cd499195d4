"""External functions of a module: called in the evaluator, or stubs.

Nothing that comes from the evaluator is believed but one thing: the bytes of the outputs of the
call that was asked for. Whoever has taken over the evaluator can state those, as its functions can,
and no more. What is anything else than the expected answer ends the task.
"""

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
import tvm_ffi

from grader.inside.common.failure import Stage, TaskError
from grader.inside.common.modules import nodes_of
from grader.inside.common.poison import Poison, as_array
from grader.messages.evaluator import (
    Argument,
    Evaluate,
    EvaluationFailed,
    Extents,
    ExternLoaded,
    FromEvaluator,
    Kept,
    LoadExtern,
    Output,
    Tensor,
    ToEvaluator,
    Values,
    describe,
    octets,
    receive_arrays,
    send_framed,
)
from grader.messages.frames import FrameError, decode_payload, read_frame
from grader.messages.runner import EXTERN_DIED

ANSWER_LIMIT = 2**20
"""Longest frame that an evaluator may answer with; the bytes of arrays are not in it."""

KEPT_AT_LEAST = 32 * 2**10
KEPT_AT_MOST = 64 * 2**20
"""Bytes of an array that is worth keeping, and of all that are kept."""


@dataclass(frozen=True)
class ToWrite:
    """An array that a function is to write; it finds the poison of call number `main_call` of
    `main` in it, or zeros where it is `cleared`."""

    array: Values
    cleared: bool = False
    main_call: int = 0


Given = Values | ToWrite | tuple[int, ...] | bool | int | float | str | None
"""An argument of a call: a tuple is a shape."""


class Evaluator:
    """An evaluator, seen from the runner. It serves one task: its functions may remember things.

    There is no time limit on its answers: the referee ends both processes when the task's time is
    over.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sent = _Sent()
        self._calls = 0
        self._is_used = False

    def await_start(self) -> bool:
        """Wait until it can be asked. Return whether it can: it may have ended instead."""
        try:
            return read_frame(self._connection, 0) is not None
        except (FrameError, ConnectionError):
            return False

    def load(self, pickles: Mapping[str, bytes]) -> None:
        """Have the functions of a task loaded. Raises TaskError."""
        if self._is_used:
            raise TaskError("externs", "NotHere", "An evaluator serves one task only.")
        self._is_used = True
        for name, data in pickles.items():
            answer = self._ask("externs", name, LoadExtern(name, data))
            if isinstance(answer, EvaluationFailed) and answer.call == 0:
                raise _not_loaded(name, answer)
            if not isinstance(answer, ExternLoaded):
                raise _bad_answer("externs", name)

    def evaluate(self, name: str, arguments: Sequence[Given]) -> None:
        """Call a function and write what it wrote into the arrays that it was to write.

        Raises TaskError when it raised, or when there is no proper answer.
        """
        self._calls += 1
        described = tuple(self._describe(each) for each in arguments)
        arrays = zip(described, arguments, strict=True)
        inputs = [array for head, array in arrays if isinstance(head, Tensor)]
        outputs = [each.array for each in arguments if isinstance(each, ToWrite)]
        request = Evaluate(self._calls, name, described)
        answer = self._ask("run", name, request, inputs)  # type: ignore[arg-type]
        if isinstance(answer, ExternLoaded) or answer.call != self._calls:
            raise _bad_answer("run", name)
        if isinstance(answer, EvaluationFailed):
            detail = f"{name} raised {answer.error_name}: {answer.message}"
            raise TaskError("run", "Raised", detail, raised=answer.message, error=answer.error_name)
        if answer.outputs != tuple(describe(output) for output in outputs):
            raise _bad_answer("run", name)
        try:
            receive_arrays(self._connection, outputs)
        except (FrameError, ConnectionError):
            raise _died("run", name) from None

    def _describe(self, argument: Given) -> Argument:
        if isinstance(argument, ToWrite):
            head = describe(argument.array)
            return Output(head.dtype, head.shape, argument.cleared, argument.main_call)
        if isinstance(argument, np.ndarray):
            return self._sent.describe(argument)
        return Extents(argument) if isinstance(argument, tuple) else argument

    def _ask(
        self, stage: Stage, name: str, request: ToEvaluator, arrays: Sequence[Values] = ()
    ) -> FromEvaluator:
        try:
            send_framed(self._connection, request, arrays)
            payload = read_frame(self._connection, ANSWER_LIMIT)
            if payload is None:
                raise _died(stage, name)
            return decode_payload(payload, FromEvaluator)  # type: ignore[arg-type]
        except ConnectionError:
            raise _died(stage, name) from None
        except FrameError:
            raise _bad_answer(stage, name) from None


class _Sent:
    """Remembers what large arrays held when they were sent: a model's weights stay as they are.

    An array is known by its place in memory. One that has changed there is not remembered again.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, Tensor], tuple[int, bytearray | None]] = {}
        self._room = KEPT_AT_MOST

    def describe(self, array: Values) -> Tensor | Kept:
        """Return how an array is announced: as one whose bytes follow, or as one that was kept."""
        head = describe(array)
        if array.nbytes < KEPT_AT_LEAST:
            return head
        place = (array.__array_interface__["data"][0], head)
        if place not in self._copies:
            if array.nbytes > self._room:
                return head
            self._room -= array.nbytes
            number = len(self._copies) + 1
            self._copies[place] = number, bytearray(octets(array))
            return Tensor(head.dtype, head.shape, number)
        number, copy = self._copies[place]
        if copy is not None and copy == octets(array):
            return Kept(number)
        self._copies[place] = number, None
        return head


def _not_loaded(name: str, answer: EvaluationFailed) -> TaskError:
    if answer.code == "not_callable":
        return TaskError("externs", "NotCallable", f"{name} is not a function.")
    message = f"{name} cannot be used outside of the notebook: {answer.message}"
    return TaskError("externs", "Raised", message, error=answer.error_name)


def _died(stage: Stage, name: str) -> TaskError:
    return TaskError(stage, EXTERN_DIED, f"{name}: the extern's process ended.")


def _bad_answer(stage: Stage, name: str) -> TaskError:
    message = f"{name}: its process answered something else than it was asked for."
    return TaskError(stage, "BadAnswer", message)


STUB_SCALE = 0.1

Function = Callable[[Sequence[Any]], None]
"""Does one call of an external function, on the arguments that TVM gives it."""

IsOutput = Callable[[Any], bool]
"""Says of a tensor whether the call that is going on is to write it."""


class Externs:
    """The external functions of one task: registers them, counts their calls, keeps their errors.

    `calls` counts by name. `error` is the first error that one of them raised.
    """

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.error: TaskError | None = None
        self._functions: dict[str, Function] = {}

    def add(self, name: str, function: Function) -> None:
        """Have `function` called under a name."""
        self.calls[name] = 0
        self._functions[name] = function

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Make the functions known to TVM within the context, and only there."""
        for name, function in self._functions.items():
            tvm.register_global_func(name, self._counted(name, function), override=True)
        try:
            yield
        finally:
            for name in self._functions:
                tvm_ffi.registry.remove_global_func(name)

    def reset(self) -> None:
        """Start counting anew; stubs then repeat what they did."""
        self.calls = dict.fromkeys(self.calls, 0)

    def _counted(self, name: str, function: Function) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            self.calls[name] += 1
            try:
                function(arguments)
            except TaskError as error:
                self.error = self.error or error
                raise RuntimeError(error.message) from None

        return call


def load_externs(
    module: Any,
    pickles: Mapping[str, bytes],
    stubs: Mapping[str, int],
    evaluator: Evaluator | None,
    poison: Poison,
) -> Externs:
    """Make a task's external functions ready: the evaluator has unpickled them.

    `poison` knows of a tensor whether the call that is going on is to write it.

    Raises TaskError where one cannot be loaded or the module calls one that is not there.
    """
    if pickles and evaluator is None:
        raise TaskError("externs", "NotHere", "This kind of runner loads no external functions.")
    called = extern_names(module)
    _check_names(called, {*pickles, *stubs})
    externs = Externs()
    if evaluator is not None:
        evaluator.load(pickles)
        for name in sorted(called & set(pickles)):
            externs.add(name, _evaluated(name, evaluator, poison))
    for name in sorted(called & set(stubs)):
        externs.add(name, _stub(name, stubs[name], externs, poison.awaits))
    return externs


def _check_names(called: set[str], given: set[str]) -> None:
    """Raise TaskError where a name stands for nothing, or for a function that TVM itself uses."""
    own = {name for name in called if tvm.get_global_func(name, allow_missing=True) is not None}
    missing, taken = sorted(called - given - own), sorted(called & given & own)
    if missing:
        names = ", ".join(missing)
        raise TaskError("externs", "NotRegistered", f"No function is registered as {names}.")
    if taken:
        message = f"{taken[0]} is a function of TVM; register yours under another name."
        raise TaskError("externs", "NameTaken", message)


def extern_names(module: Any) -> set[str]:
    """Return the names of all external functions that a module's Relax functions refer to."""
    return {
        str(each.global_symbol)
        for function in module.functions.values()
        if isinstance(function, tvm.relax.Function)
        for each in nodes_of(function, tvm.relax.ExternFunc)
    }


def _evaluated(name: str, evaluator: Evaluator, poison: Poison) -> Function:
    """Return a function that has the evaluator call the student's, and writes its outputs.

    The evaluator is sent copies: what the student's function does to its inputs stays there.
    """

    def evaluate(arguments: Sequence[Any]) -> None:
        prepared = [
            _plain(name, each)
            if not isinstance(each, tvm.runtime.Tensor)
            else ToWrite(as_array(each), poison.cleared, poison.call)
            if poison.awaits(each)
            else as_array(each)
            for each in arguments
        ]
        evaluator.evaluate(name, prepared)

    return evaluate


def _plain(name: str, argument: Any) -> Given:
    """Return an argument that is no tensor as an evaluator is given it. Raises TaskError."""
    if argument is None or isinstance(argument, bool | int | float):
        return argument
    if isinstance(argument, str):
        return str(argument)
    if isinstance(argument, tvm_ffi.Shape):
        return tuple(int(extent) for extent in argument)
    kind = type(argument).__name__
    raise TaskError("run", "BadArgument", f"{name} is given a {kind}; it can only take tensors.")


def _noise(generator: np.random.Generator, output: Values) -> npt.NDArray[Any]:
    """Return small numbers of an array's shape; those of integers are not negative."""
    if output.dtype.kind in "biu":
        return generator.integers(2 if output.dtype.kind == "b" else 10, size=output.shape)
    return generator.standard_normal(output.shape) * STUB_SCALE


def _stub(name: str, seed: int, externs: Externs, is_output: IsOutput) -> Function:
    """Return a function that fills its outputs with small noise, another one at each call."""

    def fill(arguments: Sequence[Any]) -> None:
        generator = np.random.default_rng(seed + externs.calls[name])
        for each in arguments:
            if isinstance(each, tvm.runtime.Tensor) and is_output(each):
                output = as_array(each)
                output[...] = _noise(generator, output).astype(output.dtype)

    return fill
