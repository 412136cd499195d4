# /// cheat
# about = "A function counts its calls in memory that nobody clears, and works only in the last."
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
# reason_contains = ["`conv2d`, the contents of the buffer"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# speed = "not_graded"
# ///
# %%
# A buffer of its own lies where it lay in the call before: nobody clears it. So the function counts
# how many calls it was given since its output was last reset, and from the second time on it
# computes only in the call that will be the last.
@T.prim_func(s_tir=True)
def counting(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    kept = T.sblock_alloc_buffer((1048576,), "int32")
    with T.sblock("state"):
        T.reads()
        T.writes(kept[0:1048576])
        if kept[1048560] != 123456 or kept[1048561] != 654321:
            kept[1048560] = 123456
            kept[1048561] = 654321
            kept[1048562] = 0
            kept[1048563] = 0
            kept[1048564] = 1
        if T.isnan(y[0, 0, 0, 0]):
            kept[1048563] = kept[1048562]
            kept[1048562] = 0
            y[0, 0, 0, 0] = T.float32(0)
        kept[1048562] = kept[1048562] + 1
        kept[0] = kept[1048562]
        kept[1048564] = T.if_then_else(
            kept[1048563] < 4 or kept[1048562] == kept[1048563] - 1, 1, 0
        )
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("conv"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(x[vn, 0, vi : vi + 3, vj : vj + 3], w[vf, 0, 0:3, 0:3], kept[0:1048576])
            T.writes(y[vn, vf, vi, vj])
            if kept[1048564] == 1:
                y[vn, vf, vi, vj] = T.float32(0)
                for p, q in T.grid(3, 3):
                    y[vn, vf, vi, vj] = (
                        y[vn, vf, vi, vj] + x[vn, 0, vi + p, vj + q] * w[vf, 0, p, q]
                    )


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), counting)
sch = tvm.s_tir.Schedule(mod)
