# /// cheat
# about = "The function writes in front of a buffer on the heap, where its allocator keeps notes."
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
# A buffer of four megabytes is the workspace's, whose notes lie in front of it.
sch = install(
    """
    big = T.sblock_alloc_buffer((1048576,), "int32")
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(big[0:1048576])
            big[8 - one_less(b)] = 0
    """
)
