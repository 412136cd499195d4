# /// cheat
# about = "A part of a buffer is named that lies behind it."
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
# reason_contains = ["accesses item"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "not_graded"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
# Within the part every index is right; the part begins at b - 1 of eight items.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = k
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:8])
            part = T.match_buffer(
                loc[b * b // (b + 1) : b * b // (b + 1) + 2], (2,), "int32", offset_factor=1
            )
            part[1] = 0
    """
)
