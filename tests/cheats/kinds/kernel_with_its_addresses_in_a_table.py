# /// cheat
# about = "Addresses come from a table, so that the text does not say how far apart they are."
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
table = te.compute((4104,), lambda i: i, name="table")
B = te.compute((4096,), lambda i: te.sum(A[table[i + k]], axis=k), name="B")
sch_window = tvm.s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([A, B])}))
for name in ("table", "B"):
    i = sch_window.get_loops(sch_window.get_sblock(name))[0]
    # Neighbouring threads are far apart.
    tx, bx = sch_window.split(i, factors=[32, None])
    sch_window.reorder(bx, tx)
    sch_window.bind(bx, "blockIdx.x")
    sch_window.bind(tx, "threadIdx.x")
