# /// cheat
# about = "The function writes behind its output, where the next array lies."
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
# The product of two loops, modulo one more than there are rows: 26 is met, where i and j are 2, 13.
# There are more iterations than the referee looks at.
sch = install(
    """
    for i, j in T.grid(1024, 512):
        with T.sblock("write"):
            T.reads()
            T.writes(y[0:4, 0:32, 0:26, 0:26])
            y[3, 31, i * j % 27, 25] = T.float32(0)
    """
)
