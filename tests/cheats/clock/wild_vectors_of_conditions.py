# /// cheat
# about = """What is stored in vectors of three comes from a Select, and what is loaded goes \
#     through one."""
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
# Conditions, casts and choices are vectors, too; the address is that of the buffer all the same.
sch = install(
    """
    loc = T.sblock_alloc_buffer((100000, 3), "float64")
    with T.sblock("all"):
        T.reads(x[0, 0, 0, 0:3])
        T.writes(y[0, 0, 0, 0:3])
        for k in range(100000):
            for lane in T.vectorized(3):
                loc[k, lane] = T.Select(lane < 2, T.Cast("float64", x[0, 0, 0, lane]), T.float64(1))
        for k in range(100000):
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = T.Cast("float32", T.Select(k < 7, loc[k, lane], -loc[k, lane]))
    """
)
