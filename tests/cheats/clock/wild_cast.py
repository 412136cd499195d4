# /// cheat
# about = "An index is narrowed to eight bits and back, and becomes negative."
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
# 200 as an int8 is -56: before the first item of the output.
sch = install(
    """
    for b in T.serial(256):
        with T.sblock("write"):
            T.reads()
            T.writes(y[0:4, 0:32, 0:26, 0:26])
            y[0, 0, 0, T.min(T.Cast("int32", T.Cast("int8", b)), 25)] = T.float32(0)
    """
)
