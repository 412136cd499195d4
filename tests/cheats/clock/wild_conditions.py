# /// cheat
# about = """A buffer of vectors of 256 conditions takes 256 times the bytes that were counted for \
#     it."""
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
# score = 0
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "not_graded"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
# Each item is 256 conditions. Counted as one, all of them take 16 MB; TVM multiplies in 32 bits and
# allocates 512 bytes.
sch = install(
    """
    loc = T.sblock_alloc_buffer((16777218,), "boolx256")
    for k in range(17):
        with T.sblock("write"):
            vk = T.axis.spatial(17, k)
            T.reads()
            T.writes(loc[vk * 1048576])
            loc[vk * 1048576] = T.Broadcast(T.bool(True), 256)
    for k in range(17):
        with T.sblock("copy"):
            vk = T.axis.spatial(17, k)
            T.reads(loc[vk * 1048576])
            T.writes(loc[vk * 1048576 + 1])
            loc[vk * 1048576 + 1] = loc[vk * 1048576]
    """
)
