# /// cheat
# about = """A function leaves numbers that are slow to compute with where others have \
#     their intermediate results."""
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
# Workspaces are taken from one pool, so the baseline's padded image lies where these numbers were
# left, and so do the reference's packed ones. Whoever reads what it has not written is slowed down.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((16384,), "float32")
    for k in range(16384):
        with T.sblock("leave"):
            vk = T.axis.spatial(16384, k)
            T.reads(x[0, 0, 0, 0])
            T.writes(kept[vk])
            kept[vk] = x[0, 0, 0, 0] * T.float32(1e-40)
    """,
    used="kept[0]",
)
