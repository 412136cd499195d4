# /// cheat
# about = "A buffer is said to begin a hundred items behind where it was allocated."
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
# reason_contains = ["accesses item"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "not_graded"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
# The offset is added to every index and to no allocation.
sch = install(
    """
    loc = T.sblock_alloc_buffer((8,), "int32", elem_offset=100)
    for i in range(8):
        with T.sblock("write"):
            vi = T.axis.spatial(8, i)
            T.reads()
            T.writes(loc[vi])
            loc[vi] = 0
    """
)
