# /// cheat
# about = "How many vectors of three a buffer has is said by a loop around it."
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
# TVM takes the largest number that it may be, and the room is that of those.
sch = install(
    """
    for t in range(3):
        with T.sblock("all"):
            vt = T.axis.opaque(3, t)
            T.reads(x[vt, 0, 0, 0:3])
            T.writes(y[vt, 0, 0, 0:3])
            loc = T.sblock_alloc_buffer((T.min(vt * 30000 + 30000, 80000), 3), "float32")
            for k in range(T.min(vt * 30000 + 30000, 80000)):
                for lane in T.vectorized(3):
                    loc[k, lane] = x[vt, 0, 0, lane]
            for k in range(T.min(vt * 30000 + 30000, 80000)):
                for lane in T.vectorized(3):
                    y[vt, 0, 0, lane] = loc[k, lane]
    """
)
