# /// cheat
# about = """A function takes branches without any rule, so that the processor forgets \
#     those of others."""
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
# The conditions hang on loop variables alone, and look random to the processor, which guesses the
# baseline's loops wrongly afterwards.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((64,), "float32")
    for k in range(20000):
        with T.sblock("branch"):
            vk = T.axis.spatial(20000, k)
            T.reads(kept[0:64])
            T.writes(kept[0:64])
            if (vk * 40503 // 64) % 3 == 0:
                kept[vk % 64] = kept[(vk + 7) % 64] + x[0, 0, 0, 0]
            if (vk * 30011 // 32) % 5 < 2:
                kept[(vk + 5) % 64] = kept[(vk + 11) % 64] * T.float32(0.5)
    """,
    used="kept[0]",
)
