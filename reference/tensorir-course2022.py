# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] tags=["instructor"]
# **For instructors.** Solutions of the exercise as the course of 2022 sets it, with its target. Students have that
# course's own text: this notebook is what `grader verify` tries the variant `course2022` on.

# %%
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T


# %% tags=["raises-exception"]
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(
        A: T.Buffer((4, 4), "int64"),
        B: T.Buffer((4,), "int64"),
        C: T.Buffer((4, 4), "int64"),
    ):
        T.func_attr({"global_symbol": "add", "tirx.noalias": True})
        ### BEGIN SOLUTION
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vj]
        ### END SOLUTION


# %% tags=["raises-exception"]
@I.ir_module
class MyConv:
    @T.prim_func(s_tir=True)
    def conv(
        data: T.Buffer((1, 1, 8, 8), "int64"),
        weight: T.Buffer((2, 1, 3, 3), "int64"),
        output: T.Buffer((1, 2, 6, 6), "int64"),
    ):
        T.func_attr({"global_symbol": "conv", "tirx.noalias": True})
        ### BEGIN SOLUTION
        for n, f, y, x, c, i, j in T.grid(1, 2, 6, 6, 1, 3, 3):
            with T.sblock("output"):
                vn, vf, vy, vx, vc, vi, vj = T.axis.remap("SSSSRRR", [n, f, y, x, c, i, j])
                with T.init():
                    output[vn, vf, vy, vx] = T.int64(0)
                output[vn, vf, vy, vx] = (
                    output[vn, vf, vy, vx] + data[vn, vc, vy + vi, vx + vj] * weight[vf, vc, vi, vj]
                )
        ### END SOLUTION


# %% tags=["raises-exception"]
@I.ir_module
class MyBmmRelu:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((16, 128, 128), "float32"),
        B: T.Buffer((16, 128, 128), "float32"),
        C: T.Buffer((16, 128, 128), "float32"),
    ):
        T.func_attr({"global_symbol": "bmm_relu", "tirx.noalias": True})
        ### BEGIN SOLUTION
        Y = T.sblock_alloc_buffer((16, 128, 128), "float32")
        for n, i, j, k in T.grid(16, 128, 128, 128):
            with T.sblock("Y"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    Y[vn, vi, vj] = T.float32(0)
                Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
        for n, i, j in T.grid(16, 128, 128):
            with T.sblock("C"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))
        ### END SOLUTION


# %% tags=["raises-exception"]
sch = tvm.s_tir.Schedule(MyBmmRelu)
### BEGIN SOLUTION
Y = sch.get_sblock("Y", func_name="bmm_relu")
C = sch.get_sblock("C", func_name="bmm_relu")
n, i, j, k = sch.get_loops(Y)
sch.parallel(n)
j_0, j_1 = sch.split(j, factors=[None, 8])
k_0, k_1 = sch.split(k, factors=[None, 4])
sch.reorder(k_0, k_1, j_1)
sch.unroll(k_1)
sch.reverse_compute_at(C, j_0)
sch.vectorize(sch.get_loops(C)[-1])
Y_init = sch.decompose_reduction(Y, k_0)
sch.vectorize(sch.get_loops(Y_init)[-1])
### END SOLUTION

sch.show()
