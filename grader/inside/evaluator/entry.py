"""The evaluator's process: it unpickles a student's functions, and calls them when asked.

It is the only process beside the notebook's that runs student Python, and all that it can do is
answer: it has one socket, the runner's. All imports were made by the launcher that it was forked
from (`grader.inside.common.preload`).

A function gets what TVM would give it: `tvm.runtime.Tensor` for every array, the outputs last. The
tensors are made for the call, so that nothing that a function does to them, then or later, reaches
the model.
"""

import functools
import inspect
import pickle
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
import tvm_ffi

from grader.inside.common.failure import shorten
from grader.inside.common.machine import prepare_environment, silence
from grader.inside.common.poison import as_array, fill
from grader.messages.evaluator import (
    Argument,
    Evaluate,
    Evaluated,
    EvaluationFailed,
    Extents,
    ExternLoaded,
    Kept,
    LoadExtern,
    Output,
    Tensor,
    ToEvaluator,
    Values,
    describe,
    receive_arrays,
    send_framed,
)
from grader.messages.frames import READY, RUNNER_FRAME_LIMIT, decode_payload, read_frame
from grader.messages.kernel import PYTHON_FUNCTION


class ExternCall:
    """One call: its arguments, and views of the memory of those that are arrays.

    The outputs are poisoned, so that one that is never written arrives as it was. `inputs` have yet
    to be received. `kept` holds tensors that are kept between calls, weights in short: a function
    that changes one meets the change again, as it would if it were called by TVM.
    """

    def __init__(self, request: Evaluate, kept: dict[int, Any]) -> None:
        self.number = request.call
        self.name = request.name
        self.inputs: list[Values] = []
        self.outputs: list[Values] = []
        self._kept = kept
        self.arguments = [self._make(each) for each in request.arguments]

    def _make(self, argument: Argument) -> Any:
        if isinstance(argument, Extents):
            return tvm_ffi.Shape(argument.values)
        if not isinstance(argument, Tensor | Kept | Output):
            return argument
        if isinstance(argument, Kept):
            return self._kept[argument.number]
        tensor = tvm.runtime.empty(*_layout(argument.shape, argument.dtype))
        view = as_array(tensor)
        if isinstance(argument, Output):
            fill(tensor, cleared=argument.cleared, call=argument.main_call)
            self.outputs.append(view)
            return tensor
        self.inputs.append(view)
        if argument.keep:
            self._kept[argument.keep] = tensor
        return tensor


class Functions:
    """The functions of one task by name. They are known to TVM too: one may call another."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._kept: dict[int, Any] = {}

    def load(self, name: str, data: bytes) -> ExternLoaded | EvaluationFailed:
        """Unpickle a function. This executes student code."""
        try:
            function = pickle.loads(data)  # noqa: S301 - student code, in the process made for it
        except BaseException as error:  # noqa: BLE001 - a pickle can raise anything
            return failed(0, error)
        if not callable(function):
            return EvaluationFailed(0, "", "", "not_callable")
        if name == PYTHON_FUNCTION:
            function = in_destination_style(function)
        self._functions[name] = function
        tvm.register_global_func(name, function, override=True)
        return ExternLoaded()

    def prepare(self, request: Evaluate) -> ExternCall:
        """Make the arguments of a call."""
        return ExternCall(request, self._kept)

    def run(self, call: ExternCall) -> Evaluated | EvaluationFailed:
        """Call a function that was loaded. What it returns is of no account."""
        announced = tuple(describe(each) for each in call.outputs)
        try:
            self._functions[call.name](*call.arguments)
        except BaseException as error:  # noqa: BLE001 - sys.exit() of a student is an error too
            return failed(call.number, error)
        return Evaluated(call.number, announced)


def in_destination_style(function: Callable[..., Any]) -> Callable[..., None]:
    """Return a function of tensors, the output last, that calls one of NumPy arrays.

    The latter returns its result, or writes it into its last argument where it takes as many.
    Raises TypeError where it returns something that is no array of the output's shape.
    """

    def call(*tensors: Any) -> None:
        *inputs, output = (as_array(each) for each in tensors)
        if _takes(function, len(inputs) + 1):
            function(*inputs, output)
            return
        result = function(*inputs)
        if not isinstance(result, np.ndarray) or result.shape != output.shape:
            # A number of NumPy's has the shape (), and a tensor of PyTorch's the one that is due.
            kind = result.shape if isinstance(result, np.ndarray) else type(result).__name__
            raise TypeError(f"it returned {kind} where an array of shape {output.shape} is due")
        output[...] = result

    return call


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Say whether a function demands so many arguments."""
    required = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.default is inspect.Parameter.empty
        and each.kind
        in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) >= count


@functools.lru_cache(maxsize=1024)
def _layout(shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """Return a shape and a dtype as TVM has them; making them takes longer than making a tensor."""
    return tvm_ffi.Shape(shape), tvm_ffi.dtype(dtype)


def failed(call: int, error: BaseException) -> EvaluationFailed:
    """Return the answer that tells of an error."""
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001 - __str__ is the student's too
        message = "its message cannot be read"
    return EvaluationFailed(call, _plain(type(error).__name__), shorten(_plain(message)))


def _plain(text: str) -> str:
    """Return text that can be sent: it may hold halves of characters."""
    return text.encode("utf-8", "replace").decode()


def main(arguments: list[str]) -> None:
    """Serve a runner. `arguments`: the number of the descriptor of the socket between the two."""
    prepare_environment()
    with socket.socket(fileno=int(arguments[0])) as connection:
        silence(2)  # until here it says why an evaluator cannot start
        connection.sendall(READY)
        serve(connection, Functions())


def serve(connection: socket.socket, functions: Functions) -> None:
    """Answer every request until the other side closes the connection.

    Raises FrameError for what is no request: the runner sends none such.
    """
    while (payload := read_frame(connection, RUNNER_FRAME_LIMIT)) is not None:
        request: ToEvaluator = decode_payload(payload, ToEvaluator)  # type: ignore[arg-type]
        if isinstance(request, LoadExtern):
            send_framed(connection, functions.load(request.name, request.pickle))
            continue
        call = functions.prepare(request)
        receive_arrays(connection, call.inputs)
        answer = functions.run(call)
        send_framed(connection, answer, call.outputs if isinstance(answer, Evaluated) else ())
