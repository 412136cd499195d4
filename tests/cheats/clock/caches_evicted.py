# /// cheat
# about = "A function goes through 64 MB at every call, so that the next one finds no cache."
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
# Before each timed block comes a call that is not timed, and of all blocks the quickest count: of
# the baseline's three in four follow another function. It took 35.1 us beside this one, as it does
# beside others.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((16777201,), "float32")
    for k in range(1048576):
        with T.sblock("through"):
            vk = T.axis.spatial(1048576, k)
            T.reads(kept[vk * 16])
            T.writes(kept[vk * 16])
            kept[vk * 16] = kept[vk * 16] + x[0, 0, 0, 0]
    """,
    used="kept[0]",
)
