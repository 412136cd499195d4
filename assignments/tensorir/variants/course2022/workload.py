"""What the course of 2022 asks to arrive at: its batched matrix product with a ReLU, scheduled.

A grading loads this text in a runner to compare a schedule with `target`. Nothing is timed.

    Y[n, i, j] = sum over k of A[n, i, k] * B[n, k, j]        block Y
    C[n, i, j] = max(Y[n, i, j], 0)                           block C
"""

from __future__ import annotations

import tvm
from tvm import te

SHAPE = (16, 128, 128)


def target() -> tvm.IRModule:
    """Return the module: eight columns at a time, of which zeros and ReLU are vectorized.

    The sum itself is not: its columns are an inner loop like any other.
    """
    schedule = tvm.s_tir.Schedule(unscheduled())
    product, relu = schedule.get_sblock("Y"), schedule.get_sblock("C")
    n, _, j, k = schedule.get_loops(product)
    schedule.parallel(n)
    tile, columns = schedule.split(j, factors=[None, 8])
    outer, inner = schedule.split(k, factors=[None, 4])
    schedule.reorder(outer, inner, columns)
    schedule.unroll(inner)
    schedule.reverse_compute_at(relu, tile)
    schedule.vectorize(schedule.get_loops(relu)[-1])
    zeros = schedule.decompose_reduction(product, outer)
    schedule.vectorize(schedule.get_loops(zeros)[-1])
    return schedule.mod


def unscheduled() -> tvm.IRModule:
    """Return `main(A, B, C)` as two loop nests, Y in between."""
    a, b = (te.placeholder(SHAPE, "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, SHAPE[2]), name="k")
    product = te.compute(SHAPE, lambda n, i, j: te.sum(a[n, i, k] * b[n, k, j], axis=k), name="Y")
    zero = tvm.tirx.const(0, "float32")
    result = te.compute(SHAPE, lambda *place: tvm.tirx.max(product[place], zero), name="C")
    return tvm.IRModule({"main": te.create_prim_func([a, b, result])})
