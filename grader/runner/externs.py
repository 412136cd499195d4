"""External functions of a module: pickled ones of the student, or stubs of the runner's own."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import tvm
import tvm_ffi

from grader.runner.failure import TaskError

STUB_SCALE = 0.1


class Externs:
    """The external functions of one task: registers them, counts their calls, keeps their errors.

    `calls` counts by name. `error` is the first error that one of them raised.
    """

    def __init__(
        self, functions: Mapping[str, Callable[..., Any]], stubs: Mapping[str, int]
    ) -> None:
        self.calls = dict.fromkeys([*functions, *stubs], 0)
        self.error: TaskError | None = None
        self._functions = dict(functions)
        self._functions.update({name: _stub(seed, self, name) for name, seed in stubs.items()})

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

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            try:
                return function(*arguments)
            except BaseException as error:  # noqa: BLE001 - sys.exit() of a student is an error too
                detail = f"{name} raised {type(error).__name__}: {error}"
                self.error = self.error or TaskError("run", type(error).__name__, detail)
                raise RuntimeError(detail) from None

        return call


def load_externs(module: Any, pickles: Mapping[str, bytes], stubs: Mapping[str, int]) -> Externs:
    """Unpickle a task's external functions. This executes student code: extern runners only.

    Raises TaskError where one cannot be loaded or the module calls one that is not there.
    """
    missing = sorted(extern_names(module) - set(pickles) - set(stubs))
    missing = [name for name in missing if tvm.get_global_func(name, allow_missing=True) is None]
    if missing:
        names = ", ".join(missing)
        raise TaskError("externs", "NotRegistered", f"No function is registered as {names}.")
    return Externs({name: _unpickle(name, data) for name, data in pickles.items()}, stubs)


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


def _unpickle(name: str, data: bytes) -> Callable[..., Any]:
    try:
        function = pickle.loads(data)  # noqa: S301 - student code, in its own class of runner
    except Exception as error:  # noqa: BLE001 - a pickle can raise anything
        detail = f"{name} cannot be used outside of the notebook: {error}"
        raise TaskError("externs", type(error).__name__, detail) from None
    if not callable(function):
        raise TaskError("externs", "NotCallable", f"{name} is not a function.")
    return function  # type: ignore[no-any-return]


def _stub(seed: int, externs: Externs, name: str) -> Callable[..., None]:
    """Return a function that fills its last argument with small noise, another one at each call."""

    def fill(*arguments: Any) -> None:
        output = np.from_dlpack(arguments[-1])
        generator = np.random.default_rng(seed + externs.calls[name])
        output[...] = (generator.standard_normal(output.shape) * STUB_SCALE).astype(output.dtype)

    return fill
