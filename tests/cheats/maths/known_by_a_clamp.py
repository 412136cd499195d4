# /// cheat
# about = """A product is multiplied with what is cut off at 0 and 1, by memory of the call \
#     before: 0 would leave loops out."""
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
# LLVM makes choices of comparisons, and none of a maximum of floating-point numbers.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((4096,), "float32")
    for k in range(4096):
        with T.sblock("cut"):
            vk = T.axis.spatial(4096, k)
            T.reads(kept[vk], x[0, 0, 0, 0:28])
            T.writes(kept[vk])
            kept[vk] = T.max(
                T.min(x[0, 0, 0, 0] * T.float32(1e30), T.float32(1)), T.float32(0)
            ) * (x[0, 0, 0, vk % 28] * x[0, 0, vk % 28, 0] + x[0, 0, 1, vk % 28])
    """,
    used="(kept[0] + kept[4095])",
)
