# /// cheat
# about = """A function is slow only while the number of rounds is chosen, by numbers that \
#     become zero."""
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
# score = { max = 1 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# ///
# Slices of one round each are cold, which slows the reference down more than the baseline: such
# slices made it 1.38 in place of 1.6 times as fast. Numbers that are too small for quick arithmetic
# are halved at each call, and are zero after two dozen.
# %%
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
            ] * T.float32(1e-44)
    """,
    used="kept[0]",
)
