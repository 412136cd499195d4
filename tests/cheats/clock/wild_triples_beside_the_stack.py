# /// cheat
# about = "A small buffer of a scope that is never on the stack is only used by vectors of three."
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# # LLVM makes the same loops one per cent faster beside it on some processors.
# [expect.part.schedule]
# score = { max = 1 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# ///
# %%
# 60 numbers are few enough for the stack, but not in this scope: TVM's workspace has 240 bytes for
# them, and LLVM goes from vector to vector by 16.
sch = install(
    """
    loc = T.sblock_alloc_buffer((20, 3), "float32", scope="local")
    with T.sblock("all"):
        T.reads(x[0, 0, 0, 0:3])
        T.writes(y[0, 0, 0, 0:3])
        for k in range(20):
            for lane in T.vectorized(3):
                loc[k, lane] = x[0, 0, 0, lane]
        for k in range(20):
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[k, lane]
    """
)
