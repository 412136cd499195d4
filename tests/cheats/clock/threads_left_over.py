# /// cheat
# about = """A function has parallel loops, whose threads would go on waiting for work \
#     while others are timed."""
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
# With one thread a parallel loop is timed as the plain one that it is, so no pool of threads is
# woken.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((4096,), "float32")
    for k in T.parallel(4096):
        with T.sblock("wake"):
            vk = T.axis.spatial(4096, k)
            T.reads(x[0, 0, 0, 0])
            T.writes(kept[vk])
            kept[vk] = x[0, 0, 0, 0]
    """,
    used="kept[0]",
)
