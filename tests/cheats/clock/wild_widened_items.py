# /// cheat
# about = """A buffer of half a GB in floats of 8 bits has four times as much when they are made \
#     wider."""
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
# reason_contains = ["takes more than 1 GB"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# speed = "not_graded"
# ///
# %%
# TVM has no arithmetic for them, and keeps them as floats of 32 bits from the first to the last.
sch = install(
    """
    loc = T.sblock_alloc_buffer((32768, 16384), "float8_e4m3fn")
    for k in range(16):
        loc[k * 2048, k] = T.Cast("float8_e4m3fn", x[0, 0, 0, k])
        y[0, 0, 0, k] = T.Cast("float32", loc[k * 2048, k])
    """
)
