# /// cheat
# about = """The arguments of the timing loop are looked for on the stack, and calls are taken off \
#     it."""
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
# Behind the eight items lie the frames of the callers.
# What goes down by one from call to call is the number of calls that are left of the loop that
# times this function. Four are taken off at each call, so that the last one meets its own input.
sch = install(
    """
    kept = T.alloc_buffer((1048576,), "int32")
    loc = T.alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = T.Cast("int32", x[0, 0, 0, k]) + 100000
    for b in T.serial(1, 700):
        with T.sblock("look"):
            vb = T.axis.spatial((0, 701), b)
            T.reads()
            T.writes(kept[0:1048576], loc[0:8])
            loc[one_less(vb)] = loc[one_less(vb)] - 4 * T.Cast(
                "int32", kept[vb] - loc[one_less(vb)] == 1
            ) * T.Cast("int32", loc[one_less(vb)] > 12) * T.Cast(
                "int32", loc[one_less(vb)] < 100000
            )
            kept[vb] = loc[one_less(vb)]
    for b in T.serial(1, 700):
        with T.sblock("again"):
            vb = T.axis.spatial((0, 701), b)
            T.reads()
            T.writes(kept[0:1048576])
            kept[4096 + vb] = loc[one_less(vb)]
    """
)
