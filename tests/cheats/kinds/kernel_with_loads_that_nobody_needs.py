# /// cheat
# about = "Loads whose results nobody takes are no proof of much work, and hide nothing."
# assignment = "gpu"
# cells = ["@"]
#
# [expect]
# problems = []
#
# [expect.part.window]
# score = 8
# check.threads = "passed"
# check.equivalence = "passed"
# check.cost = "failed"
# ///
# %%
import tvm
from tvm import te


# %%
A = te.placeholder((4104,), "float32", name="A")
k = te.reduce_axis((0, 9), name="k")
waste = te.compute((4096,), lambda i: A[i * 37 % 4104] * 0.0, name="waste")
B = te.compute((4096,), lambda i: te.sum(A[i + k] + waste[i], axis=k), name="B")
sch_window = tvm.s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([A, B])}))
sch_window.compute_inline(sch_window.get_sblock("waste"))
i, k = sch_window.get_loops(sch_window.get_sblock("B"))
bx, tx = sch_window.split(i, factors=[None, 128])
sch_window.bind(bx, "blockIdx.x")
sch_window.bind(tx, "threadIdx.x")
