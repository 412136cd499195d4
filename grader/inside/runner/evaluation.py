"""The runner's end of its evaluator: the process that calls the student's functions.

Nothing that comes from there is believed but one thing: the bytes of the outputs of the call that
was asked for. Whoever has taken over the evaluator can state those, as its functions can, and no
more. What is anything else than the expected answer ends the task.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.inside.common.failure import Stage, TaskError
from grader.inside.common.framed_arrays import (
    Values,
    describe,
    octets,
    receive_arrays,
    send_framed,
)
from grader.messages import (
    EXTERN_DIED,
    Argument,
    Evaluate,
    EvaluationFailed,
    Extents,
    ExternLoaded,
    FrameError,
    FromEvaluator,
    Kept,
    LoadExtern,
    Output,
    Tensor,
    ToEvaluator,
    decode_payload,
    read_frame,
)

ANSWER_LIMIT = 2**20
"""Longest frame that an evaluator may answer with; the bytes of arrays are not in it."""

KEPT_AT_LEAST = 32 * 2**10
KEPT_AT_MOST = 64 * 2**20
"""Bytes of an array that is worth keeping, and of all that are kept."""


@dataclass(frozen=True)
class ToWrite:
    """An array that a function is to write; it finds poison in it, or zeros where `cleared`."""

    array: Values
    cleared: bool = False


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
            return Output(head.dtype, head.shape, argument.cleared)
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
