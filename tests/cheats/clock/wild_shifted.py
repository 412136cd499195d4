# /// cheat
# about = "TVM takes a number shifted beyond its bits for positive, and divides it towards zero."
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
# At b = 8 the shifted number is -2**31: what is left of it is -3, and floormod would be 2.
sch = install(
    """
    loc = T.alloc_buffer((5,), "int32")
    for k in range(5):
        loc[k] = k
    for b in range(16):
        loc[(b << 28) % 5] = 0
    """
)
