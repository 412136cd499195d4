# /// cheat
# about = """A function sleeps after its work, so that the processor's clock is low when \
#     others begin."""
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
# reason_contains = ["which is not allowed"]
#
# [expect.part.schedule.check]
# pure_tir = "not_graded"
# speed = "not_graded"
# ///
# A processor that sleeps wakes up slowly.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((16,), "int32")
    with T.sblock("ask"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept[0:16])
        kept[0] = 8064
        T.evaluate(T.call_extern("int32", "usleep", 20))
    """
)
