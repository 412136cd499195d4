# /// cheat
# about = "A function writes behind its output, where the arrays of others lie."
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
# reason_contains = ["item 86528 of the buffer `y`"]
# ///
# %%
# The last image's last line is followed by whatever comes next.
@T.prim_func(s_tir=True)
def stray(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    with T.sblock("stray"):
        T.reads()
        T.writes(y[0:4, 0:32, 0:26, 0:26])
        for b in range(1, 40):
            y[3, 31, 25, b * b // (b + 1)] = T.float32(0)
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("conv"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(x[vn, 0, vi : vi + 3, vj : vj + 3], w[vf, 0, 0:3, 0:3])
            T.writes(y[vn, vf, vi, vj])
            y[vn, vf, vi, vj] = T.float32(0)
            for p, q in T.grid(3, 3):
                y[vn, vf, vi, vj] = y[vn, vf, vi, vj] + x[vn, 0, vi + p, vj + q] * w[vf, 0, p, q]


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), stray)
sch = tvm.s_tir.Schedule(mod)
