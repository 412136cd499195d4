# /// cheat
# about = "A function reads the processor's counter of cycles, to behave by the time of day."
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
# Whoever knows the time knows how long ago it was called last, and so which call is timed.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((16,), "int32")
    with T.sblock("ask"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept[0:16])
        kept[0] = 8064
        T.evaluate(T.call_llvm_intrin("uint64", "llvm.readcyclecounter"))
    """
)
