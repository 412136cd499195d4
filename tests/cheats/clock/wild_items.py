# /// cheat
# about = """A buffer has items of 24 bits: TVM allocates three bytes for each, and LLVM goes on \
#     by four."""
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
# reason_contains = ["has items of type `int24`"]
# ///
# %%
# Every index is within the extents; the last quarter of the items lies behind what was allocated.
sch = install(
    """
    loc = T.alloc_buffer((400000,), "int24")
    for k in range(400000):
        loc[k] = T.Cast("int24", k)
    """
)
