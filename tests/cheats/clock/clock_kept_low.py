# /// cheat
# about = """A function keeps the processor hot with the widest vectors, so that its clock \
#     is low for others."""
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
# Where wide vectors lower the clock, it stays low for some milliseconds: for all functions of a
# round alike.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((256,), "float32")
    for k in range(4000):
        for u in T.unroll(16):
            for v in T.vectorized(16):
                with T.sblock("heat"):
                    vk, vu, vv = T.axis.remap("SSS", [k, u, v])
                    T.reads(kept[vu * 16 + vv])
                    T.writes(kept[vu * 16 + vv])
                    kept[vu * 16 + vv] = kept[vu * 16 + vv] * T.float32(0.999) + T.float32(0.001)
    """,
    used="kept[0]",
)
