# /// cheat
# about = "An index is shifted by more bits than it has, within one of the intrinsics."
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
# reason_contains = ["overflows its type"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "not_graded"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
# The intrinsic becomes shifts by 200 - 31 bits behind all that looks at shifts.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:8])
            loc[T.min(T.max(T.q_multiply_shift(b, 3, 31, 200), 0), 7)] = b
    """
)
