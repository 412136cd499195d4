# /// cheat
# about = "A buffer is so large that its size in bytes is a small 32-bit number."
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
# 65536 times 16385 floats are 2**32 and 262144 bytes: those are allocated.
sch = install(
    """
    big = T.sblock_alloc_buffer((65536, 16385), "float32")
    for i in range(26):
        with T.sblock("write"):
            vi = T.axis.spatial(26, i)
            T.reads()
            T.writes(big[vi * 2500, 0:16385])
            big[vi * 2500, 0] = T.float32(0)
    for i in range(26):
        with T.sblock("read"):
            vi = T.axis.spatial(26, i)
            T.reads(big[vi * 2500, 0:16385])
            T.writes(y[0, 0, 0, vi])
            y[0, 0, 0, vi] = big[vi * 2500, 16384]
    """
)
