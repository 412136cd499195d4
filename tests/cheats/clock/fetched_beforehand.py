# /// cheat
# about = "A function has the input of its next call fetched beforehand."
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
# Inputs of a ring lie one after the other.
# %%
sch = install(
    """
    kept = T.sblock_alloc_buffer((16,), "int32")
    with T.sblock("ask"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept[0:16])
        kept[0] = 8064
        begin = T.address_of(x[0, 0, 0, 0])
        T.evaluate(T.call_llvm_pure_intrin("int32", "llvm.prefetch", begin, 0, 3, 1))
    """
)
