# /// cheat
# about = "One thread does all of the work, so that nobody meets it."
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
B = te.compute((4096,), lambda i: te.sum(A[i + k], axis=k), name="B")
sch_window = tvm.s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([A, B])}))
block = sch_window.get_sblock("B")
i, k = sch_window.get_loops(block)
bx, tx, rest = sch_window.split(i, factors=[1, 1, None])
sch_window.bind(bx, "blockIdx.x")
sch_window.bind(tx, "threadIdx.x")
