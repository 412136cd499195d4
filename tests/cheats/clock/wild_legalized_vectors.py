# /// cheat
# about = "A type that LLVM has no arithmetic for becomes a wider one, and then vectors of three."
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = 0
# reason_contains = ["Your schedule is slower than the unscheduled function"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# speed = "failed"
# ///
# %%
# Numbers of 16 bits are made to ones of 32 bits before TVM makes vectors of them, and not after.
sch = install(
    """
    loc = T.sblock_alloc_buffer((100000, 3), "bfloat16")
    with T.sblock("all"):
        T.reads(x[0, 0, 0, 0:3])
        T.writes(y[0, 0, 0, 0:3])
        for k in range(100000):
            for lane in T.vectorized(3):
                loc[k, lane] = T.Cast("bfloat16", x[0, 0, 0, lane])
        for k in range(100000):
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = T.Cast("float32", loc[k, lane])
    """
)
