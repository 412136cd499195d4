"""TraceModule: run a module as `run_module` does, and keep the value of every step.

A copy of the module is run in which a function of the runner's own is called after every step, and
is given its value: so each value is copied when it is made, under its own variable. What comes
later, a failure or a call that works in place, cannot take it back, and calls are not fused, as
what is seen between them must exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import tvm

from grader.messages import (
    PYTHON_FUNCTION,
    RunModule,
    TaskFailure,
    TensorSpec,
    TracedStep,
    TraceModule,
    TraceResult,
    pack_array,
)
from grader.runner.buffers import Buffers, expose
from grader.runner.calls import module_to_run
from grader.runner.evaluation import Evaluator
from grader.runner.externs import extern_names, load_externs
from grader.runner.failure import TaskError, stage
from grader.runner.model import (
    OUTPUT_LIMIT,
    Arguments,
    build_main,
    check_signature,
    load_module,
    unpack_arguments,
)
from grader.runner.poison import Poison, is_poisoned
from grader.runner.steps import Step, watched

WATCHER = "grader.trace.step"
"""Name of the function that is called after every step."""

Values = npt.NDArray[np.generic]

_CARRIED = ("float32", "float64", "int64", "int32", "uint8")
_CONVERTED = ("float16", "int8", "int16", "uint16", "uint32", "uint64", "bool")


def trace_module(task: TraceModule, evaluator: Evaluator | None = None) -> TraceResult:
    """Do the task. Raises TaskError where it is not even known which steps there are."""
    run = task.run
    with stage("decode"):
        arguments = unpack_arguments(run)
    with stage("load"):
        given = load_module(run.module) if run.module else None
        buffers = None if given is None else expose(given, run)
    if buffers is not None:
        given, run = buffers.module, _with_outputs(run, buffers)
    module = module_to_run(given, run)
    check_signature(module, arguments)
    name = _free_name(module)
    with stage("build"):
        copy, steps = watched(module, name)
    watcher = _Watcher(steps)
    failure = _run(copy, run, arguments, watcher, (name, evaluator))
    found = watcher.result()
    if buffers is not None:
        found = buffers.in_order(found)
    elif not run.module:
        found = _of_python(found)
    return TraceResult(found, failure)


def _run(
    module: tvm.IRModule,
    run: RunModule,
    arguments: Arguments,
    watcher: _Watcher,
    others: tuple[str, Evaluator | None],
) -> TaskFailure | None:
    """Make all calls; return what ended them early."""
    name, evaluator = others
    poison = Poison()
    try:
        # The watcher is announced as a stub would be: it is no function of the student's.
        stubs = {**run.stubs, name: 0}
        externs = load_externs(module, run.externs, stubs, evaluator, poison.awaits)
        externs.add(name, watcher.see)
        with externs.registered():
            main = build_main(module, run, externs, poison)
            for number in range(arguments.calls):
                watcher.begin()
                main(arguments.of_call(number))
    except TaskError as error:
        return error.as_failure()
    return None


def _free_name(module: tvm.IRModule) -> str:
    """Return a name for the watcher that nothing in the module goes by."""
    taken = extern_names(module)
    name = WATCHER
    while name in taken or tvm.get_global_func(name, allow_missing=True) is not None:
        name += "_"
    return name


def _with_outputs(run: RunModule, buffers: Buffers) -> RunModule:
    """Return the task to run a function that has buffers for further outputs."""
    added = tuple(TensorSpec(each.dtype, each.shape) for each in buffers.added)  # type: ignore[arg-type]
    return msgspec.structs.replace(run, outputs=(*run.outputs, *added))


def _of_python(steps: Sequence[TracedStep]) -> tuple[TracedStep, ...]:
    """Name the outputs of a Python function, which have no variable."""
    count = len(steps)
    return tuple(
        msgspec.structs.replace(
            each,
            variable="output" if count == 1 else f"output {place}",
            callee=PYTHON_FUNCTION,
            binding=None,
        )
        for place, each in enumerate(steps, start=1)
    )


class _Watcher:
    """Takes down the values of a module's steps, in the order in which it is given them."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._calls: list[list[Values | None]] = []
        self._unwritten: set[int] = set()
        self._poisoned: set[int] = set()
        self._room = OUTPUT_LIMIT

    def begin(self) -> None:
        """Begin a call of `main`."""
        self._calls.append([])
        self._poisoned.clear()

    def see(self, arguments: Sequence[Any]) -> None:
        """Take down the next value. Raises TaskError when all are too large together."""
        seen = self._calls[-1]
        number, tensor = len(seen), arguments[0]
        if number >= len(self._steps):
            return  # a function that `main` calls calls it again
        value = _copy(tensor)
        self._room -= 0 if value is None else value.nbytes
        if self._room < 0:
            raise TaskError("run", "TooLarge", "The values of all steps are too large together.")
        seen.append(value)
        if is_poisoned(tensor):
            self._poisoned.add(number)
            if not self._poisoned & set(self._steps[number].takes):
                self._unwritten.add(number)

    def result(self) -> tuple[TracedStep, ...]:
        """Return the steps as a message has them."""
        columns = list(zip_longest(*self._calls)) if self._calls else []
        columns += [()] * (len(self._steps) - len(columns))
        return tuple(
            TracedStep(
                variable=step.variable,
                callee=step.callee,
                dtype=step.dtype,
                values=_joined(column),
                takes=step.takes,
                takes_input=step.takes_input,
                binding=step.binding,
                is_unwritten=number in self._unwritten,
            )
            for number, (step, column) in enumerate(zip(self._steps, columns, strict=True))
        )


def _copy(tensor: Any) -> Values | None:
    """Return a copy of a tensor's values, None where no message carries anything like them."""
    dtype = str(tensor.dtype)
    if dtype not in (*_CARRIED, *_CONVERTED):
        return None
    return np.array(np.from_dlpack(tensor), dtype=dtype if dtype in _CARRIED else "float32")


def _joined(column: Sequence[Values | None]) -> Any:
    """Return the values of one step in the calls that reached it; None where they do not fit."""
    values = [each for each in column if each is not None]
    if not values or len({(each.shape, each.dtype) for each in values}) != 1:
        return None
    return pack_array(np.stack(values))
