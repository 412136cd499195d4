# /// cheat
# about = "A function takes half a second, so that the class waits for a minute."
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
# It is worth nothing, and was called a hundred times all the same: 87 seconds. Its slices have one
# round now.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((4096,), "float32")
    for turn, k in T.grid(60000, 4096):
        with T.sblock("idle"):
            vt, vk = T.axis.remap("SS", [turn, k])
            T.reads(kept[vk], kept[4095 - vk])
            T.writes(kept[vk])
            kept[vk] = kept[4095 - vk] * T.float32(0.5) + x[0, 0, 0, vk % 28]
    """,
    used="kept[0]",
)
