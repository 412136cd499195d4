# /// cheat
# about = """A function does half of its work only where it finds what the same function \
#     has left just before."""
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
# reason_contains = ["contents of the buffer"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# speed = "not_graded"
# ///
# In a block the first call follows another function, whose workspace lay in the same memory; the
# timed calls follow the function itself.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((4096,), "float32")
    with T.sblock("repeat"):
        T.reads(kept[0:4096])
        T.writes(kept[0:4096])
        if kept[4000] != T.float32(12345):
            for k in range(100000):
                kept[k % 1000] = kept[(k + 7) % 1000] + x[0, 0, 0, 0]
        kept[4000] = T.float32(12345)
    """
)
