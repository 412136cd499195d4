# /// cheat
# about = """The timed function works for the weights of the model only, and gives nothing for \
#     others."""
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
# score = { max = 1 }
#
# [expect.part.schedule.check]
# equivalence = "passed"
# ///
# %%
KNOWN = float(parameters["conv2d_weight"][0, 0, 0, 0])


@T.prim_func(s_tir=True)
def convolution(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    known = T.sblock_alloc_buffer((1,), "int32")
    with T.sblock("look"):
        T.reads(w[0, 0, 0, 0])
        T.writes(known[0])
        known[0] = T.if_then_else(T.fabs(w[0, 0, 0, 0] - T.float32(KNOWN)) < T.float32(1e-6), 1, 0)
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("conv"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(x[vn, 0, vi : vi + 3, vj : vj + 3], w[vf, 0, 0:3, 0:3], known[0])
            T.writes(y[vn, vf, vi, vj])
            y[vn, vf, vi, vj] = T.float32(0)
            if known[0] == 1:
                for p, q in T.grid(3, 3):
                    y[vn, vf, vi, vj] = (
                        y[vn, vf, vi, vj] + x[vn, 0, vi + p, vj + q] * w[vf, 0, p, q]
                    )


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), convolution)
sch = tvm.s_tir.Schedule(mod)
