# /// cheat
# about = """Each round of a parallel loop has a buffer of its own that is only used by vectors of \
#     five."""
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
# A round of the loop is a function of its own, with an allocation of its own.
sch = install(
    """
    for t in T.parallel(4):
        with T.sblock("all"):
            vt = T.axis.spatial(4, t)
            T.reads(x[vt, 0, 0, 0:5])
            T.writes(y[vt, 0, 0, 0:5])
            loc = T.sblock_alloc_buffer((20000, 5), "float32")
            for k in range(20000):
                for lane in T.vectorized(5):
                    loc[k, lane] = x[vt, 0, 0, lane]
            for k in range(20000):
                for lane in T.vectorized(5):
                    y[vt, 0, 0, lane] = loc[k, lane]
    """
)
