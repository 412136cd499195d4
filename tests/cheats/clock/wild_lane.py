# /// cheat
# about = "The first lane of a vector lies in its buffer, and the last seven behind it."
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
# Every index that is written down is at most 7.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = k
    for b in T.serial(1, 9):
        loc[T.Ramp(one_less(b), 1, 8)] = T.Broadcast(0, 8)
    """
)
