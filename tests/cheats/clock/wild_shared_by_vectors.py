# /// cheat
# about = "Two buffers that TVM keeps in one allocation have vectors of different lengths."
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
# One ends before the other begins, so that TVM gives both of them the same memory.
sch = install(
    """
    first = T.sblock_alloc_buffer((60000, 5), "float32")
    second = T.sblock_alloc_buffer((100000, 3), "float32")
    with T.sblock("all"):
        T.reads(x[0, 0, 0, 0:5])
        T.writes(y[0, 0, 0, 0:5])
        for k in range(60000):
            for lane in T.vectorized(5):
                first[k, lane] = x[0, 0, 0, lane]
        for k in range(60000):
            for lane in T.vectorized(5):
                y[0, 0, 0, lane] = first[k, lane]
        for k in range(100000):
            for lane in T.vectorized(3):
                second[k, lane] = x[0, 0, 0, lane]
        for k in range(100000):
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = second[k, lane]
    """
)
