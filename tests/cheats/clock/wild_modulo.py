# /// cheat
# about = "What a division leaves has the sign of what was divided, where it rounds towards zero."
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
# ///
# %%
# truncmod(-1, 8) is -1; floormod(-1, 8) would be 7, and within.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = k
    for b in range(16):
        loc[T.truncmod(3 - one_less(b), 8)] = 0
    """
)
