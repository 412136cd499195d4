# /// cheat
# about = """A function goes through two megabytes, so that the inputs of the calls that come \
#     next are in no near cache."""
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
# The call that is not timed fetches one input of four. The others are as far away for everybody.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((524288,), "float32")
    for k in range(32768):
        with T.sblock("through"):
            vk = T.axis.spatial(32768, k)
            T.reads(kept[vk * 16])
            T.writes(kept[0:524288])
            kept[vk * 16] = kept[vk * 16] * T.float32(0.5) + x[0, 0, 0, 0]
    kept[524287] = x[0, 0, 0, 1]
    """,
    used="(kept[0] + kept[524287])",
)
