# /// cheat
# about = """A function is quick until the length of its blocks is chosen, by numbers that become \
#     small."""
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
# score = { max = 2 }
# ///
# %%
# Nothing is decided by contents here, and yet they take time: a number that is halved in each call,
# in memory that is not cleared between them, is too small for the processor's quick arithmetic
# after some 130 calls, and the products with it then take a hundred times as long.
sch = install(
    """
    kept = T.sblock_alloc_buffer((100000,), "float32")
    for k in range(100000):
        with T.sblock("halve"):
            vk = T.axis.spatial(100000, k)
            T.reads(kept[vk])
            T.writes(kept[vk])
            kept[vk] = T.max(kept[vk], T.float32(0)) * T.float32(0.5) + x[
                0, 0, 0, 0
            ] * T.float32(1e-39)
    """,
    used="kept[0]",
)
