# /// cheat
# about = """A scheduled block pretends to read the weight; the convolution beside it is not \
#     scheduled."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { max = 7 }
#
# [expect.part.schedule.check]
# equivalence = "passed"
# steps = "failed"
# ///
# %%
@T.prim_func(s_tir=True)
def convolution(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    for n in T.parallel(4):
        for f, i, j in T.grid(32, 26, 26):
            with T.sblock("clear"):
                vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
                y[vn, vf, vi, vj] = T.float32(0)
    for n, f, k in T.grid(2, 2, 2):
        with T.sblock("decoy"):
            vn, vf, vk = T.axis.remap("SSR", [n, f, k])
            T.reads(y[vn, vf, 0, 0], w[vf, 0, 0, 0])
            T.writes(y[vn, vf, 0, 0])
            y[vn, vf, 0, 0] = y[vn, vf, 0, 0] + T.Cast("float32", vk)
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("conv"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(x[vn, 0, vi : vi + 3, vj : vj + 3], w[vf, 0, 0:3, 0:3])
            T.writes(y[vn, vf, vi, vj])
            y[vn, vf, vi, vj] = T.float32(0)
            for p, q in T.grid(3, 3):
                y[vn, vf, vi, vj] = y[vn, vf, vi, vj] + x[vn, 0, vi + p, vj + q] * w[vf, 0, p, q]


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), convolution)
sch = tvm.s_tir.Schedule(mod)
