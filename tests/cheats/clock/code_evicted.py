# /// cheat
# about = "A function is so long that the next one finds no code in the cache."
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
# Two hundred kilobytes of code go through the processor's cache of instructions at every call.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((64,), "float32")
    for k in T.unroll(6000):
        with T.sblock("long"):
            vk = T.axis.spatial(6000, k)
            T.reads(kept[0:64])
            T.writes(kept[0:64])
            kept[vk * 17 % 64] = kept[vk * 29 % 64] * T.float32(0.5) + kept[vk * 43 % 64]
    """,
    used="kept[0]",
)
