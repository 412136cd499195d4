"""Schedules of the course's convolution, compiled for processors that need not be at hand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import tvm

ROOT = Path(__file__).parents[2]
SHAPES = {"data": (4, 1, 28, 28), "weight": (32, 1, 3, 3)}
MULTIPLY_ADDS = 4 * 32 * 26 * 26 * 9
"""Of one call."""

TARGETS = {
    "x86-64": "x86_64-linux-gnu",
    "haswell": "x86_64-linux-gnu",
    "skylake-avx512": "x86_64-linux-gnu",
    "neoverse-n1": "aarch64-linux-gnu",
    "neoverse-v1": "aarch64-linux-gnu",
}
"""Processors: SSE, AVX2, AVX-512, NEON and SVE."""


def target(processor: str) -> Any:
    return tvm.target.Target({"kind": "llvm", "mcpu": processor, "mtriple": TARGETS[processor]})


@functools.cache
def workload(assignment: str = "e2e-conv") -> ModuleType:
    module = ModuleType("workload")
    text = (ROOT / "assignments" / assignment / "workload.py").read_text()
    exec(compile(text, "workload.py", "exec"), module.__dict__)
    return module


def convolution() -> tuple[Any, Any, list[Any]]:
    """Return a schedule that pads nothing, its convolution, and the loops of that."""
    schedule = tvm.s_tir.Schedule(workload().baseline("conv2d", SHAPES))
    schedule.compute_inline(schedule.get_sblock("pad_temp"))
    block = schedule.get_sblock("conv2d_nchw")
    return schedule, block, schedule.get_loops(block)


def unscheduled() -> tvm.IRModule:
    return workload().baseline("conv2d", SHAPES)


def reference() -> tvm.IRModule:
    return workload().reference("conv2d", SHAPES, 1)


def scalar() -> tvm.IRModule:
    """The filters innermost, far from each other in memory: nothing becomes a vector."""
    schedule, _, (n, c, y, x, i, dy, dx) = convolution()
    schedule.reorder(n, y, x, i, dy, dx, c)
    return schedule.mod


def vectors_of_13() -> tvm.IRModule:
    """Vectors of half a row of the image, which no processor has."""
    schedule, block, (n, c, y, x, i, dy, dx) = convolution()
    outer, lanes = schedule.split(x, factors=[2, 13])
    schedule.reorder(n, c, y, outer, i, dy, dx, lanes)
    schedule.vectorize(lanes)
    schedule.decompose_reduction(block, i)
    return schedule.mod


def too_many_sums() -> tvm.IRModule:
    """Sixteen filters by a row of pixels at a time: far more sums than there are registers."""
    schedule, block, (n, c, y, x, i, dy, dx) = convolution()
    c, channels = schedule.split(c, factors=[2, 16])
    schedule.reorder(n, c, y, i, dy, dx, channels, x)
    outer, lanes = schedule.split(x, factors=[None, 26])
    schedule.reorder(n, c, y, outer, i, dy, dx, channels, lanes)
    schedule.vectorize(lanes)
    for loop in (channels, dy, dx):
        schedule.unroll(loop)
    schedule.decompose_reduction(block, i)
    return schedule.mod


def small_array() -> tvm.IRModule:
    """Sums of eight filters by a row of pixels in an array of the function's own."""
    schedule, block, _ = convolution()
    sums = schedule.cache_write(block, 0, "local")
    _, c, y, x, i, dy, dx = schedule.get_loops(block)
    _, channels = schedule.split(c, factors=[None, 8])
    schedule.reorder(y, i, dy, dx, channels, x)
    schedule.reverse_compute_at(sums, y)
    schedule.decompose_reduction(block, i)
    return schedule.mod


SCHEDULES: dict[str, Callable[[], tvm.IRModule]] = {
    made.__name__: made
    for made in (
        unscheduled,
        reference,
        scalar,
        vectors_of_13,
        too_many_sums,
        small_array,
    )
}


@functools.cache
def assembly(schedule: str, processor: str) -> str:
    """Return the machine code of a schedule for a processor."""
    with target(processor) as chosen:
        return compiled(SCHEDULES[schedule](), chosen)


def compiled(module: tvm.IRModule, chosen: Any) -> str:
    function = module["main"].with_attr("global_symbol", "main")
    made = tvm.compile(tvm.IRModule({"main": function}), chosen).mod
    return str(made.inspect_source("asm"))
