# /// cheat
# about = "Vectors of three are stored by way of a part of a buffer that has a name of its own."
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
# The part is the whole row, and its vectors are those of the buffer.
sch = install(
    """
    loc = T.sblock_alloc_buffer((100000, 3), "float32")
    for k in range(100000):
        with T.sblock("write"):
            vk = T.axis.spatial(100000, k)
            T.reads(x[0, 0, 0, 0:3])
            T.writes(loc[vk, 0:3])
            row = T.match_buffer(loc[vk, 0:3], (3,), "float32", offset_factor=1)
            for lane in T.vectorized(3):
                row[lane] = x[0, 0, 0, lane]
    for k in range(100000):
        with T.sblock("read"):
            vk = T.axis.spatial(100000, k)
            T.reads(loc[vk, 0:3])
            T.writes(y[0, 0, 0, 0:3])
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[vk, lane]
    """
)
