# /// cheat
# about = """A function goes through memory by ever other strides, so that the processor \
#     fetches beforehand what nobody needs."""
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
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((262144,), "float32")
    for k in range(4096):
        with T.sblock("astray"):
            vk = T.axis.spatial(4096, k)
            T.reads(kept[0:262144])
            T.writes(kept[0:262144])
            kept[vk * 40503 % 262144] = kept[262143 - vk * 30011 % 262144] + x[0, 0, 0, 0]
    """,
    used="(kept[0] + kept[262143])",
)
