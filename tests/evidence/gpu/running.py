"""How tests execute a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import IRModule

from grader.evidence.gpu.inside.execution import Execution, Program
from grader.evidence.gpu.inside.lowering import lower


def arrays_of(function: Any, length: int = 100) -> list[npt.NDArray[Any]]:
    """Return arrays for a function's parameters; `length` is every extent that is symbolic."""
    generator = np.random.default_rng(45)
    shapes = [
        [getattr(axis, "value", length) for axis in each.ty.shape] for each in function.params
    ]
    dtypes = [str(each.ty.dtype.dtype) for each in function.params]
    pairs = zip(shapes, dtypes, strict=True)
    return [generator.standard_normal(shape).astype(dtype) for shape, dtype in pairs]


def program_of(function: Any) -> Program:
    """Return a function, lowered."""
    lowered = lower(IRModule({"main": function}), "main", "sm_80")
    return Program(lowered.function, lowered.shapes)


def execute(function: Any, length: int = 100) -> Execution:
    """Execute a function whose last parameter is its output."""
    arrays = arrays_of(function, length)
    return program_of(function).execute(arrays, [len(arrays) - 1])
