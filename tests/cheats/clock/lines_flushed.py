# /// cheat
# about = "A function throws the weights out of all caches, for the next one to fetch."
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
# A line that is flushed is in no cache of any level.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((16,), "int32")
    with T.sblock("ask"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept[0:16])
        kept[0] = 8064
        begin = T.address_of(w[0, 0, 0, 0])
        T.evaluate(T.call_llvm_intrin("int32", "llvm.x86.sse2.clflush", begin))
    """
)
