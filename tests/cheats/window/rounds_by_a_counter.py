# /// cheat
# about = "A loop has as many rounds as a counter of calls says, by its stride."
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
# A stride is a bound as well.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((1048576,), "int32")
    with T.sblock("count"):
        T.reads(kept[1048000])
        T.writes(kept[0:1048576])
        kept[1048000] = kept[1048000] + 1
        for k in T.serial(0, 100000, step=T.max(kept[1048000], 1)):
            kept[k % 1000] = k
    """
)
