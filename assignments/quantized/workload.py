"""The product of int8 matrices in int32: unscheduled, and with the course's schedule.

A grading loads this text in a runner. To time a schedule it compiles `baseline` and `reference` for
the machine at hand and places a submission's function between the two: the baseline's time is worth
nothing, the reference's is the end of the scale. Only TVM is imported here, and nothing of a
submission is ever seen by this file.

All of them take and give the same arrays: A and B int8 of shape (128, 128), C int32 of that shape.

    C[i, j] = sum over k of int32(A[i, k]) * int32(B[k, j])        block C
"""

from __future__ import annotations

from collections.abc import Mapping

import tvm
from tvm import te

VARIANTS = {"matmul": ("A", "B")}
"""What the function may compute, and the arrays that it takes then, before its output."""

SIZE = 128
SHAPE = (SIZE, SIZE)

Shapes = Mapping[str, tuple[int, ...]]


def baseline(variant: str, shapes: Shapes) -> tvm.IRModule:
    """Return `main(A, B, C)` as TE writes it, without a schedule: one loop nest.

    There is one variant, at one shape.
    """
    del variant, shapes
    a, b = (te.placeholder(SHAPE, "int8", name=name) for name in "AB")
    k = te.reduce_axis((0, SIZE), name="k")
    product = te.compute(
        SHAPE,
        lambda i, j: te.sum(a[i, k].astype("int32") * b[k, j].astype("int32"), axis=k),
        name="C",
    )
    return tvm.IRModule({"main": te.create_prim_func([a, b, product])})


ROWS, VECTORS, VECTOR = 4, 2, 8
"""A tile of the reference: 4 rows by 2 vectors of 8 columns, as many int32 as AVX2 holds in a
register. Its eight sums stay there, and each vector of B that is widened to int32 serves four rows.
Nothing of it relies on instructions for dot products of int8, which many processors lack."""


def reference(variant: str, shapes: Shapes, threads: int) -> tvm.IRModule:
    """Return the same function with the course's schedule for `threads` threads.

    A tile of C stays in registers while the sum runs over all of k.
    """
    schedule = tvm.s_tir.Schedule(baseline(variant, shapes))
    product = schedule.get_sblock("C")
    i, j, k = schedule.get_loops(product)
    row_tile, rows = schedule.split(i, factors=[None, ROWS])
    band, vectors, lanes = schedule.split(j, factors=[None, VECTORS, VECTOR])
    schedule.reorder(row_tile, band, k, rows, vectors, lanes)
    if threads > 1:
        schedule.parallel(row_tile)
    schedule.unroll(rows)
    schedule.unroll(vectors)
    schedule.vectorize(lanes)
    schedule.decompose_reduction(product, k)
    return schedule.mod
