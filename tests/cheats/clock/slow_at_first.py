# /// cheat
# about = "A function idles in its first calls, so that blocks of few calls are chosen for it."
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
# score = { max = 2 }
# ///
# %%
@T.prim_func(s_tir=True)
def convolution(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    kept = T.sblock_alloc_buffer((1048576,), "int32")
    with T.sblock("count"):
        T.reads()
        T.writes(kept[0:1048576])
        if kept[1048560] != 123456 or kept[1048561] != 654321:
            kept[1048560] = 123456
            kept[1048561] = 654321
            kept[1048562] = 0
        kept[1048562] = kept[1048562] + 1
        kept[0] = kept[1048562]
        if kept[1048562] < 6:
            for turn in range(40000000):
                kept[turn % 1024] = kept[(turn + 7) % 1024] + turn
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
