# /// cheat
# about = """A function adds an input up and leaves its work out for a sum that it has seen \
#     before."""
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
# reason_contains = ["contents of the buffer"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# speed = "not_graded"
# ///
# The inputs of a slice come round every four calls, so an answer that was kept would be right.
# Copying it takes half as long as computing it.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((90000,), "float32")
    for i, j in T.grid(28, 28):
        with T.sblock("sum"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(x[0, 0, vi, vj], kept[89000])
            T.writes(kept[89000])
            kept[89000] = kept[89000] * T.float32(0.5) + x[0, 0, vi, vj]
    with T.sblock("known"):
        T.reads(kept[0:90000])
        T.writes(kept[0:90000], y[0:4, 0:32, 0:26, 0:26])
        if kept[89000] == kept[89001]:
            for n, f, i, j in T.grid(4, 32, 26, 26):
                y[n, f, i, j] = kept[((n * 32 + f) * 26 + i) * 26 + j]
        kept[89001] = kept[89000]
    """
)
