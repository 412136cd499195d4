# /// cheat
# about = """A function takes 900 MB of workspace and uses two items, and others get theirs \
#     from that."""
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
# The pool keeps the largest room and gives it to whoever asks next: the baseline's padded image
# lies at the beginning of untouched pages.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((235929600,), "float32")
    with T.sblock("take"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept[0:235929600])
        kept[0] = x[0, 0, 0, 0]
        kept[235929599] = x[0, 0, 0, 1]
    """,
    used="(kept[0] + kept[235929599])",
)
