# /// cheat
# about = "A difference of numbers without a sign wraps around below zero."
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
# reason_contains = ["overflows its type"]
# ///
# %%
# Of 3 - 4, a uint32 makes 4294967295, and a thousandth of that is still four million items away.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = k
    for b in range(8):
        loc[T.Cast("int64", (T.uint32(3) - T.Cast("uint32", b)) // T.uint32(1000))] = 0
    """
)
