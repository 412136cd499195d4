# /// cheat
# about = "A buffer is given strides by which its items lie far behind it."
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
# reason_contains = ["custom strides, an offset or a layout"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# speed = "not_graded"
# ///
# %%
# Sixteen items are allocated, and the last one lies at 303.
sch = install(
    """
    loc = T.sblock_alloc_buffer((4, 4), "int32", strides=[1, 100])
    for i, j in T.grid(4, 4):
        with T.sblock("write"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(loc[vi, vj])
            loc[vi, vj] = 0
    """
)
