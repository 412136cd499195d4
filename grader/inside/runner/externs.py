"""External functions of a module: the student's, which an evaluator calls, or stubs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tvm
import tvm_ffi

from grader.inside.common.failure import TaskError
from grader.inside.common.poison import Poison
from grader.inside.runner.evaluation import Evaluator, Given, ToWrite

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
    names: set[str] = set()

    def visit(expression: Any) -> None:
        if isinstance(expression, tvm.relax.ExternFunc):
            names.add(str(expression.global_symbol))

    for function in module.functions.values():
        if isinstance(function, tvm.relax.Function):
            tvm.relax.analysis.post_order_visit(function, visit)
    return names


def _evaluated(name: str, evaluator: Evaluator, poison: Poison) -> Function:
    """Return a function that has the evaluator call the student's, and writes its outputs.

    The evaluator is sent copies: what the student's function does to its inputs stays there.
    """

    def evaluate(arguments: Sequence[Any]) -> None:
        prepared = [
            _plain(name, each)
            if not isinstance(each, tvm.runtime.Tensor)
            else ToWrite(np.from_dlpack(each), poison.cleared)
            if poison.awaits(each)
            else np.from_dlpack(each)
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


def _stub(name: str, seed: int, externs: Externs, is_output: IsOutput) -> Function:
    """Return a function that fills its outputs with small noise, another one at each call."""

    def fill(arguments: Sequence[Any]) -> None:
        generator = np.random.default_rng(seed + externs.calls[name])
        for each in arguments:
            if isinstance(each, tvm.runtime.Tensor) and is_output(each):
                output = np.from_dlpack(each)
                noise = generator.standard_normal(output.shape) * STUB_SCALE
                output[...] = noise.astype(output.dtype)

    return fill
