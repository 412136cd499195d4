# /// cheat
# about = "Rows of a buffer are aligned to a negative number of items, so that they overlap."
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
# With rows of one item, sixteen rows of sixteen take 31 items; TVM allocates sixteen.
sch = install(
    """
    loc = T.sblock_alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.sblock("write"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(loc[vi, vj])
            T.sblock_attr({"buffer_dim_align": [[0, 0, -16, 1]]})
            loc[vi, vj] = T.float32(0)
    """
)
