# /// cheat
# about = "An index overflows within an intrinsic that multiplies and adds."
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
# reason_contains = ["is not proven to stay inside its buffers"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "not_graded"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:8])
            loc[T.min(T.max(T.fma(b * 67108864, b * 64, 1), 0), 7)] = b
    """
)
