# /// cheat
# about = """A function visits a thousand pages at every call, so that the next one finds \
#     no address."""
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
# A page's address has to be looked up again by whoever comes next, but not in a call that is timed.
# The baseline took 35.5 us beside this one, and 35.1 beside others.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((1047553,), "float32")
    for k in range(1024):
        with T.sblock("visit"):
            vk = T.axis.spatial(1024, k)
            T.reads(kept[vk * 1024])
            T.writes(kept[vk * 1024])
            kept[vk * 1024] = kept[vk * 1024] + x[0, 0, 0, 0]
    """,
    used="kept[0]",
)
