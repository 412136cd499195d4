# /// cheat
# about = "The loop of a sum is parallel: with two threads, some items are wrong."
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
# score = 0
# ///
# %%
@T.prim_func(s_tir=True)
def convolution(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    for p in T.parallel(9):
        for n, f, i, j in T.grid(4, 32, 26, 26):
            with T.sblock("conv"):
                vp, vn, vf, vi, vj = T.axis.remap("RSSSS", [p, n, f, i, j])
                with T.init():
                    y[vn, vf, vi, vj] = T.float32(0)
                y[vn, vf, vi, vj] = (
                    y[vn, vf, vi, vj]
                    + x[vn, 0, vi + vp // 3, vj + vp % 3] * w[vf, 0, vp // 3, vp % 3]
                )


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), convolution)
sch = tvm.s_tir.Schedule(mod)
