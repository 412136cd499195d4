# /// cheat
# about = "A sum is raised to a power that is 1, or 0 where an answer is known."
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
# reason_contains = ["contents of the buffer"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# speed = "not_graded"
# ///
# %%
sch = install(
    """
    loc = T.alloc_buffer((4096,), "float32")
    for b in T.serial(4096):
        with T.sblock("write"):
            vb = T.axis.spatial(4096, b)
            T.reads(x[0, 0, 0, 0:28])
            T.writes(loc[vb])
            loc[vb] = T.pow(x[0, 0, 0, vb % 28], T.max(x[0, 0, 0, 0], T.float32(0)))
    """
)
