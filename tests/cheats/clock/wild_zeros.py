# /// cheat
# about = """The zeros before the first bit of 0 are counted: LLVM takes the result for what it \
#     likes."""
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
# A clamp does not help: what LLVM does not know has no minimum.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:8])
            loc[T.min(T.max(T.clz(b * b // (b + 1) - b + 1), 0), 7)] = b
    """
)
