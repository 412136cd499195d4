# /// cheat
# about = "The timed function marks the inputs that it has seen and leaves them out from then on."
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
@T.prim_func(s_tir=True)
def convolution(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    seen = T.sblock_alloc_buffer((1,), "int32")
    with T.sblock("look"):
        T.reads(x[0, 0, 0, 0])
        T.writes(seen[0])
        seen[0] = T.if_then_else(x[0, 0, 0, 0] == T.float32(12345), 1, 0)
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("conv"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(x[vn, 0, vi : vi + 3, vj : vj + 3], w[vf, 0, 0:3, 0:3], seen[0])
            T.writes(y[vn, vf, vi, vj])
            if seen[0] == 0:
                y[vn, vf, vi, vj] = T.float32(0)
                for p, q in T.grid(3, 3):
                    y[vn, vf, vi, vj] = (
                        y[vn, vf, vi, vj] + x[vn, 0, vi + p, vj + q] * w[vf, 0, p, q]
                    )
    with T.sblock("mark"):
        T.reads()
        T.writes(x[0, 0, 0, 0])
        x[0, 0, 0, 0] = T.float32(12345)


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), convolution)
sch = tvm.s_tir.Schedule(mod)
