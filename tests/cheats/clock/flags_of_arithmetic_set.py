# /// cheat
# about = """A function sets the flags of arithmetic, by which the next one rounds and \
#     handles small numbers."""
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
# The flags are the thread's, and stay as they are for baseline and reference.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((16,), "int32")
    with T.sblock("ask"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept[0:16])
        kept[0] = 8064
        T.evaluate(T.call_llvm_intrin("int32", "llvm.x86.sse.stmxcsr", T.address_of(kept[0])))
        T.evaluate(T.call_llvm_intrin("int32", "llvm.x86.sse.ldmxcsr", T.address_of(kept[0])))
    """
)
