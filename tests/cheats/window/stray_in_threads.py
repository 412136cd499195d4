# /// cheat
# about = "A parallel loop leaves a buffer of each thread's stack, where the pool keeps its state."
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
# reason_contains = ["of the buffer `local`"]
# ///
# %%
# Every task of the pool does it.
@T.prim_func(s_tir=True)
def stray(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    for n in T.parallel(4):
        for f in range(32):
            with T.sblock("stray"):
                vn, vf = T.axis.remap("SS", [n, f])
                T.reads(x[vn, 0, 0:28, 0:28], w[vf, 0, 0:3, 0:3])
                T.writes(y[vn, vf, 0:26, 0:26])
                local = T.sblock_alloc_buffer((8,), "int32")
                for b in range(8):
                    local[b] = 0
                for b in range(1, 64):
                    local[b * b // (b + 1)] = 0
                for i, j in T.grid(26, 26):
                    y[vn, vf, i, j] = T.float32(0)
                    for p, q in T.grid(3, 3):
                        y[vn, vf, i, j] = y[vn, vf, i, j] + x[vn, 0, i + p, j + q] * w[vf, 0, p, q]


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), stray)
sch = tvm.s_tir.Schedule(mod)
