# /// cheat
# about = "TVM is told that a block reads two items of a buffer, and allocates no more of it."
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
# The annotation is TVM's own: it allocates what is declared, whatever the block loads.
sch = install(
    """
    big = T.sblock_alloc_buffer((100000,), "float32")
    for i in range(2):
        with T.sblock("write"):
            vi = T.axis.spatial(2, i)
            T.reads()
            T.writes(big[vi])
            big[vi] = T.float32(0)
    for i in range(26):
        with T.sblock("read"):
            vi = T.axis.spatial(26, i)
            T.reads(big[0:2])
            T.writes(y[0, 0, 0, vi])
            T.sblock_attr({"explicit_read_region": [0]})
            y[0, 0, 0, vi] = big[vi + 5000]
    """
)
