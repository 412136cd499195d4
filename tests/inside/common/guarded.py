"""Holds guards to machine code: what a function does outside of its buffers, they must see.

Two builds are called on the same arrays. One is guarded: it says where the program that TVM lowered
leaves a buffer, of its own ones, too. The other is what would be timed; each of its arrays lies
within a larger one, whose items are all `POISON` and must stay so, and what it computes must be
what the guarded one does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tvm

from grader.inside.common.allocations import PIPELINE
from grader.inside.common.failure import TaskError
from grader.inside.common.guards import Guards

MARGIN = 4096
"""Items before and behind each array."""

POISON = 85
"""What they hold; small enough for integers of 8 bits, and in none of the arrays."""

ALIGNMENT = 64
"""TVM wants arrays to begin at a multiple of so many bytes."""


class _Embedded:
    """An array in the middle of a larger one."""

    def __init__(self, values: np.ndarray) -> None:
        margin = MARGIN * values.itemsize
        self._memory = np.empty(2 * margin + values.nbytes + ALIGNMENT, np.uint8)
        start = -(self._memory.ctypes.data + margin) % ALIGNMENT + margin
        end = start + values.nbytes
        self._around = [
            self._memory[start - margin : start].view(values.dtype),
            self._memory[end : end + margin].view(values.dtype),
        ]
        for each in self._around:
            each.fill(POISON)
        self.values = self._memory[start:end].view(values.dtype).reshape(values.shape)
        self.values[...] = values
        self.tensor = tvm.runtime.from_dlpack(self.values)

    @property
    def is_intact(self) -> bool:
        """Say whether nothing was written around it."""
        return all((each == POISON).all() for each in self._around)


class UncompiledError(Exception):
    """Raised where TVM or LLVM does not compile a function, so that there is nothing to hold."""


class Held(NamedTuple):
    """What guards saw of a function, and what they did not see; empty where there was nothing."""

    seen: str = ""
    missed: str = ""


def hold(module: tvm.IRModule) -> Held:
    """Call the only function of a module with guards and, where they see nothing, without.

    Raises UncompiledError.
    """
    ((variable, function),) = module.functions.items()
    arrays = [_content(each) for each in function.params]
    guards = Guards()
    try:
        with guards.building() as pipeline:
            guarded = tvm.compile(module, "llvm", tir_pipeline=pipeline)
        plain = tvm.compile(module, "llvm", tir_pipeline=PIPELINE)
    except (RuntimeError, ValueError, TypeError) as error:
        raise UncompiledError(str(error)) from error
    except TaskError as error:
        return Held(seen=error.message)
    expected = [_Embedded(each) for each in arrays]
    failure = ""
    try:
        guarded[str(variable.name_hint)](*(each.tensor for each in expected))
    except (RuntimeError, ValueError) as error:
        failure = str(error)
    try:
        guards.demand_none()
    except TaskError as error:
        return Held(seen=error.message)
    assert not failure, failure
    found = [_Embedded(each) for each in arrays]
    plain[str(variable.name_hint)](*(each.tensor for each in found))
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not one.is_intact:
            return Held(missed=f"argument {place}: written beside it")
        if not np.array_equal(one.values, other.values):
            return Held(missed=f"argument {place}: other items with guards")
    return Held()


def _content(buffer: Any) -> np.ndarray:
    """Return what a buffer holds before the call: numbers that are not `POISON`."""
    shape = [int(each) for each in buffer.shape]
    return (np.arange(np.prod(shape)) % POISON).astype(str(buffer.dtype)).reshape(shape)
