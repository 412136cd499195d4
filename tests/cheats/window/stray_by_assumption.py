# /// cheat
# about = "A function has the compiler assume that its index is small, which would drop a check."
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
# reason_contains = ["has a T.assume that is false"]
# ///
# %%
# What is assumed is false from the ninth iteration on.
@T.prim_func(s_tir=True)
def stray(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    local = T.sblock_alloc_buffer((8,), "int32")
    with T.sblock("stray"):
        T.reads(x[0:4, 0:1, 0:28, 0:28])
        T.writes(local[0:8])
        for b in range(8):
            local[b] = 0
        for b in range(1, 64):
            T.evaluate(T.assume(b * b // (b + 1) < 8))
            local[b * b // (b + 1)] = 7
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
