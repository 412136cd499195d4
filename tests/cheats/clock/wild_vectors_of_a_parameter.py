# /// cheat
# about = "The weights are only read by vectors of three, and lie close to the end of a page."
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# # LLVM makes the same loops faster beside it: by 1 per cent on some processors, 4 on others.
# [expect.part.schedule]
# score = { max = 2 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# ///
# %%
# Were the parameter itself made one of vectors, the last quarter would be read from behind it.
sch = install(
    """
    loc = T.sblock_alloc_buffer((96, 3), "float32")
    with T.sblock("all"):
        T.reads(w[0:32, 0, 0:3, 0:3])
        T.writes(y[0:32, 0, 0, 0:3])
        for f, p in T.grid(32, 3):
            for lane in T.vectorized(3):
                loc[f * 3 + p, lane] = w[f, 0, p, lane]
        for k in range(96):
            for lane in T.vectorized(3):
                y[k % 4, 0, 0, lane] = loc[k, lane]
    """
)
