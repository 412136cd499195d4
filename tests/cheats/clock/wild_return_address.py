# /// cheat
# about = "The function writes over what lies behind a small buffer on the stack."
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
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "not_graded"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
# Eight items are on the stack, and behind them what the function returns to.
sch = install(
    """
    loc = T.alloc_buffer((8,), "float32")
    for k in range(8):
        loc[k] = T.Cast("float32", x[0, 0, 0, k])
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:8])
            loc[b * b // (b + 1)] = T.float32(0)
    """
)
