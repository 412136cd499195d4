"""The batched product with ReLU, without a schedule and as the target: float32 (2, 8, 8) each."""

from __future__ import annotations

import tvm
from tvm import te

SHAPE = (2, 8, 8)


def baseline() -> tvm.IRModule:
    """Return `main(A, B, C)` as TE writes it: block Y sums up, block C cuts off at zero."""
    a, b = (te.placeholder(SHAPE, "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, 8), name="k")
    product = te.compute(SHAPE, lambda n, i, j: te.sum(a[n, i, k] * b[n, k, j], axis=k), name="Y")
    zero = tvm.tirx.const(0, "float32")
    result = te.compute(SHAPE, lambda *place: tvm.tirx.max(product[place], zero), name="C")
    return tvm.IRModule({"main": te.create_prim_func([a, b, result])})


def target() -> tvm.IRModule:
    """Return the module to arrive at: matrices in parallel, the sum initialised by itself."""
    schedule = tvm.s_tir.Schedule(baseline())
    product, relu = schedule.get_sblock("Y"), schedule.get_sblock("C")
    n, _, j, k = schedule.get_loops(product)
    schedule.parallel(n)
    tile, _ = schedule.split(j, factors=[None, 4])
    schedule.reverse_compute_at(relu, tile)
    schedule.decompose_reduction(product, k)
    return schedule.mod
