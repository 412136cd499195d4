"""All example submissions of gpu: a name maps to the code cells of a notebook.

What each must get is in `examples/gpu/<name>.verdict.toml`.
"""

from __future__ import annotations

import re

SETUP = """\
import tvm
from tvm import te
from tvm.script import ir as I
from tvm.script import tirx as T
"""

ADD_SCHEDULED = """\
a, b = (te.placeholder((4000,), "float32", name=name) for name in "AB")
c = te.compute((4000,), lambda i: a[i] + b[i], name="C")
sch = tvm.s_tir.Schedule(te.create_prim_func([a, b, c]))
(i,) = sch.get_loops(sch.get_sblock("C"))
bx, tx, lanes = sch.split(i, factors=[None, 128, 4])
sch.bind(bx, "blockIdx.x")
sch.bind(tx, "threadIdx.x")
sch.vectorize(lanes)
MyAdd = sch.mod
"""

WINDOW = """\
A = te.placeholder((4104,), "float32", name="A")
k = te.reduce_axis((0, 9), name="k")
B = te.compute((4096,), lambda i: te.sum(A[i + k], axis=k), name="B")
sch_window = tvm.s_tir.Schedule(te.create_prim_func([A, B]))
block = sch_window.get_sblock("B")
i, k = sch_window.get_loops(block)
"""

WINDOW_OVER_THREADS = """\
bx, ty = sch_window.split(i, factors=[None, 32])
sch_window.bind(bx, "blockIdx.x")
sch_window.bind(ty, "threadIdx.y")
sch_window.bind(k, "threadIdx.x")
"""

MATMUL = """\
A = te.placeholder((128, 128), "float32", name="A")
B = te.placeholder((128, 128), "float32", name="B")
k = te.reduce_axis((0, 128), name="k")
C = te.compute((128, 128), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
sch_matmul = tvm.s_tir.Schedule(te.create_prim_func([A, B, C]))
block = sch_matmul.get_sblock("C")
i, j, k = sch_matmul.get_loops(block)
"""

BOUND = """\
by, ty = sch_matmul.split(i, factors=[None, THREADS])
bx, tx = sch_matmul.split(j, factors=[None, THREADS])
sch_matmul.reorder(by, bx, ty, tx, k)
sch_matmul.bind(by, "blockIdx.y")
sch_matmul.bind(bx, "blockIdx.x")
sch_matmul.bind(ty, "threadIdx.y")
sch_matmul.bind(tx, "threadIdx.x")
"""

COLUMNS = """\
by, ty = sch_matmul.split(i, factors=[None, 16])
bx, tx = sch_matmul.split(j, factors=[None, 16])
sch_matmul.reorder(by, bx, ty, tx, k)
sch_matmul.bind(by, "blockIdx.x")
sch_matmul.bind(bx, "blockIdx.y")
sch_matmul.bind(ty, "threadIdx.x")
sch_matmul.bind(tx, "threadIdx.y")
"""

SUMS = """\
@I.ir_module
class MySums:
    @T.prim_func
    def sums(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64,), "float32")):
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for tx in T.thread_binding(256, thread="threadIdx.x"):
                S = T.alloc_buffer((256,), "float32", scope="shared")
                S[tx] = A[bx, tx]
                T.tvm_storage_sync("shared")
                for i in range(8):
                    if tx < T.shift_right(128, i):
                        S[tx] = S[tx] + S[tx + T.shift_right(128, i)]
                    T.tvm_storage_sync("shared")
                if tx == 0:
                    B[bx] = S[0]
"""
BARRIER = 'T.tvm_storage_sync("shared")\n'

RESULT = "                if tx == 0:\n"

ONE_THREAD = """\
@I.ir_module
class MySums:
    @T.prim_func
    def sums(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64,), "float32")):
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                if tx == 0:
                    B[bx] = T.float32(0)
                    for i in range(256):
                        B[bx] = B[bx] + A[bx, i]
"""

ATOMIC_IN_MIND = """\
@I.ir_module
class MySums:
    @T.prim_func
    def sums(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64,), "float32")):
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for tx in T.thread_binding(256, thread="threadIdx.x"):
                if tx == 0:
                    B[bx] = T.float32(0)
                T.tvm_storage_sync("shared")
                B[bx] = B[bx] + A[bx, tx]
"""

EXAMPLES: dict[str, tuple[str, ...]] = {
    # right in an unusual way
    "addition_by_a_schedule": (SETUP, ADD_SCHEDULED),
    "window_summed_over_threads": (SETUP, WINDOW + WINDOW_OVER_THREADS),
    "sums_by_one_thread_each": (SETUP, ONE_THREAD),
    "one_barrier_too_many": (SETUP, SUMS.replace(RESULT, f"                {BARRIER}{RESULT}")),
    # right, and slow
    "product_bound_and_nothing_else": (SETUP, MATMUL + BOUND.replace("THREADS", "16")),
    "product_by_columns": (SETUP, MATMUL + COLUMNS),
    # typical mistakes
    "product_without_threads": (SETUP, MATMUL),
    "block_of_4096_threads": (SETUP, MATMUL + BOUND.replace("THREADS", "64")),
    "barriers_left_out": (SETUP, re.sub(rf" +{re.escape(BARRIER)}", "", SUMS)),
    "barrier_in_a_condition": (
        SETUP,
        SUMS.replace(f"                    {BARRIER}", f"                        {BARRIER}"),
    ),
    "all_threads_add_to_one_element": (SETUP, ATOMIC_IN_MIND),
}
