# /// cheat
# about = """A function keeps vectors in memory at the last twelve bits of the output's \
#     addresses, for stores and loads of others to be taken for the same."""
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
    kept = T.sblock_alloc_buffer((65536,), "float32")
    for u in range(64):
        for k in range(1024):
            with T.sblock("alias"):
                vu, vk = T.axis.remap("SS", [u, k])
                T.reads(kept[(vu + 32) % 64 * 1024 + vk])
                T.writes(kept[vu * 1024 + vk])
                kept[vu * 1024 + vk] = kept[(vu + 32) % 64 * 1024 + vk] + x[0, 0, 0, 0]
    """,
    used="kept[0]",
)
