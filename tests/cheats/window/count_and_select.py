# /// cheat
# about = """A function counts its calls and computes in the last, by a Select that looks as if \
#     both were."""
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
# As count_the_calls, but without any branch: the state is kept by arithmetic, and a Select computes
# both of its values in TensorIR. Yet TVM makes a branch of one whose values are loaded from memory.
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
        kept[1048565] = T.Cast("int32", kept[1048560] == 123456) * T.Cast(
            "int32", kept[1048561] == 654321
        )
        kept[1048560] = 123456
        kept[1048561] = 654321
        kept[1048562] = kept[1048562] * kept[1048565]
        kept[1048563] = kept[1048563] * kept[1048565]
        kept[1048565] = T.Cast("int32", T.isnan(y[0, 0, 0, 0]))
        y[0, 0, 0, 0] = T.float32(0)
        kept[1048563] = kept[1048563] + kept[1048565] * (kept[1048562] - kept[1048563])
        kept[1048562] = kept[1048562] * (1 - kept[1048565]) + 1
        kept[0] = kept[1048562]
        kept[1048564] = T.max(
            T.Cast("int32", kept[1048563] < 4),
            T.Cast("int32", kept[1048562] == kept[1048563] - 1),
        )
    for n, f, i, j in T.grid(4, 32, 26, 26):
        with T.sblock("conv"):
            vn, vf, vi, vj = T.axis.remap("SSSS", [n, f, i, j])
            T.reads(x[vn, 0, vi : vi + 3, vj : vj + 3], w[vf, 0, 0:3, 0:3], kept[0:1048576])
            T.writes(y[vn, vf, vi, vj])
            y[vn, vf, vi, vj] = T.Select(
                kept[1048564] == 1,
                x[vn, 0, vi + 0, vj + 0] * w[vf, 0, 0, 0]
                + x[vn, 0, vi + 0, vj + 1] * w[vf, 0, 0, 1]
                + x[vn, 0, vi + 0, vj + 2] * w[vf, 0, 0, 2]
                + x[vn, 0, vi + 1, vj + 0] * w[vf, 0, 1, 0]
                + x[vn, 0, vi + 1, vj + 1] * w[vf, 0, 1, 1]
                + x[vn, 0, vi + 1, vj + 2] * w[vf, 0, 1, 2]
                + x[vn, 0, vi + 2, vj + 0] * w[vf, 0, 2, 0]
                + x[vn, 0, vi + 2, vj + 1] * w[vf, 0, 2, 1]
                + x[vn, 0, vi + 2, vj + 2] * w[vf, 0, 2, 2],
                y[vn, vf, vi, vj],
            )


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), counting)
sch = tvm.s_tir.Schedule(mod)
