# /// cheat
# about = """A buffer has items of three numbers: TVM allocates 12 bytes for each, and LLVM goes \
#     on by 16."""
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
# reason_contains = ["has items of type `float32x3`"]
# ///
# %%
# The last of 100,000 vectors begins 400 KB behind the end of the allocation.
sch = install(
    """
    loc = T.alloc_buffer((100000,), "float32x3")
    for k in range(100000):
        loc[k] = T.Broadcast(T.Cast("float32", k), 3)
    """
)
