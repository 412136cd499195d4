# /// cheat
# about = "Each round of an unrolled loop has a buffer of vectors of seven, and so an allocation."
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
# Copies of an allocation that TVM writes are allocations of their own, or are none.
sch = install(
    """
    for t in T.unroll(3):
        with T.sblock("all"):
            vt = T.axis.opaque(3, t)
            T.reads(x[0, 0, vt, 0:7])
            T.writes(y[0, 0, vt, 0:7])
            loc = T.sblock_alloc_buffer((20000, 7), "float32")
            for k in range(20000):
                for lane in T.vectorized(7):
                    loc[k, lane] = x[0, 0, vt, lane]
            for k in range(20000):
                for lane in T.vectorized(7):
                    y[0, 0, vt, lane] = loc[k, lane]
    """
)
