"""The batched matrix product with a ReLU: unscheduled, as the exercise's target, and at its best.

A grading loads this text in a runner. To time a schedule it compiles `baseline` and `reference` for
the machine at hand and places a submission's function between the two: the baseline's time is worth
nothing, the reference's is the end of the scale. To compare a schedule with the exercise's target
it takes `target`. Only TVM is imported here, and nothing of a submission is ever seen by this file.

All of them take and give the same arrays (float32): A, B and C of shape (16, 128, 128).

    Y[n, i, j] = sum over k of A[n, i, k] * B[n, k, j]        block Y
    C[n, i, j] = max(Y[n, i, j], 0)                           block C
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import te

VARIANTS = {"bmm_relu": ("A", "B")}
"""What the function may compute, and the arrays that it takes then, before its output."""

BATCH, SIZE = 16, 128
SHAPE = (BATCH, SIZE, SIZE)

Shapes = Mapping[str, tuple[int, ...]]


def baseline(variant: str, shapes: Shapes) -> tvm.IRModule:
    """Return `main(A, B, C)` as TE writes it, without a schedule: two loop nests, Y in between.

    There is one variant, at one shape.
    """
    del variant, shapes
    a, b = (te.placeholder(SHAPE, "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, SIZE), name="k")
    product = te.compute(SHAPE, lambda n, i, j: te.sum(a[n, i, k] * b[n, k, j], axis=k), name="Y")
    zero = tvm.tirx.const(0, "float32")
    result = te.compute(SHAPE, lambda *place: tvm.tirx.max(product[place], zero), name="C")
    return tvm.IRModule({"main": te.create_prim_func([a, b, result])})


LANES = 8
"""Columns that the target computes at a time: a vector of AVX."""

UNROLLED = 4
"""Terms of the sum that the target writes out one after the other."""


def target() -> tvm.IRModule:
    """Return the module that the exercise asks to arrive at.

    Matrices are done in parallel. A row's columns are done eight at a time: set to zero, summed up
    and cut off at zero before the next eight.
    """
    schedule = tvm.s_tir.Schedule(baseline("bmm_relu", {}))
    product, relu = schedule.get_sblock("Y"), schedule.get_sblock("C")
    n, _, j, k = schedule.get_loops(product)
    schedule.parallel(n)
    tile, lanes = schedule.split(j, factors=[None, LANES])
    outer, inner = schedule.split(k, factors=[None, UNROLLED])
    schedule.reorder(outer, inner, lanes)
    schedule.unroll(inner)
    schedule.vectorize(lanes)
    schedule.reverse_compute_at(relu, tile)
    schedule.vectorize(schedule.get_loops(relu)[-1])
    schedule.decompose_reduction(product, outer)
    return schedule.mod


ROWS, VECTORS, VECTOR = 8, 2, 16
"""A tile of the reference: 8 rows by 2 vectors of 16 columns. Its sixteen sums fit the registers of
AVX-512, and each vector of B that is loaded serves eight rows. Tried were 2, 4, 8 and 16 rows by 1,
2 and 4 vectors. Where vectors are of 8, as with AVX2, it spills some sums; the best tile there (4
rows by 2 vectors of 8) takes a fifth less, and with AVX-512 twice as long as this one."""


def reference(variant: str, shapes: Shapes, threads: int) -> tvm.IRModule:
    """Return the same function with the course's schedule for `threads` threads.

    A tile of C stays in registers while the sum runs over all of k; what an element of A is
    multiplied by is loaded once for all rows of the tile. (K. Goto, R. van de Geijn, "Anatomy of
    high-performance matrix multiplication", 2008; with matrices as small as these no copy of a part
    of them pays.)
    """
    schedule = tvm.s_tir.Schedule(baseline(variant, shapes))
    product, relu = schedule.get_sblock("Y"), schedule.get_sblock("C")

    # 1. Go over C in tiles, down a band of columns first: its part of B stays in the first cache.
    n, i, j = schedule.get_loops(relu)
    row_tile, rows = schedule.split(i, factors=[None, ROWS])
    band, vectors, lanes = schedule.split(j, factors=[None, VECTORS, VECTOR])
    schedule.reorder(n, band, row_tile, rows, vectors, lanes)
    schedule.vectorize(lanes)

    # 2. Give each thread whole matrices.
    if threads > 1:
        schedule.parallel(n)

    # 3. Sum a tile up just before it is cut off at zero.
    schedule.compute_at(product, row_tile)
    tile(schedule, product)
    return schedule.mod


def tile(schedule: Any, product: Any) -> None:
    """Sum up a tile over k, in registers: what is written out needs no loop and no memory."""
    *_, rows, columns, k = schedule.get_loops(product)
    vectors, lanes = schedule.split(columns, factors=[VECTORS, VECTOR])
    schedule.reorder(k, rows, vectors, lanes)
    schedule.unroll(rows)
    schedule.unroll(vectors)
    schedule.vectorize(lanes)
    schedule.decompose_reduction(product, k)
