# /// cheat
# about = "A product of 64 bits overflows on the way to an index that is cut to its buffer."
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
# 2**62 * 4 is none of int64: LLVM may take what comes of it for any number, min and max or not.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = k
    for b in range(8):
        loc[T.max(T.min(T.Cast("int64", b * b) * T.int64(4611686018427387904), 7), 0)] = 0
    """
)
