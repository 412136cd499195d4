# /// cheat
# about = """Rows of a buffer are lengthened, so that TVM makes vectors of its items that end \
#     within a row."""
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
# The row of nine becomes one of eleven, and three does not divide eleven.
sch = install(
    """
    loc = T.sblock_alloc_buffer((30000, 9), "float32")
    for k, j in T.grid(30000, 3):
        with T.sblock("write"):
            vk, vj = T.axis.remap("SS", [k, j])
            T.reads(x[0, 0, 0, 0:3])
            T.writes(loc[vk, vj * 3 : vj * 3 + 3])
            T.sblock_attr({"buffer_dim_align": [[0, 0, 11, 0]]})
            for lane in T.vectorized(3):
                loc[vk, vj * 3 + lane] = x[0, 0, 0, lane]
    for k, j in T.grid(30000, 3):
        with T.sblock("read"):
            vk, vj = T.axis.remap("SS", [k, j])
            T.reads(loc[vk, vj * 3 : vj * 3 + 3])
            T.writes(y[0, 0, 0, 0:3])
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[vk, vj * 3 + lane]
    """
)
