# /// cheat
# about = """A buffer is only used by vectors of three: TVM allocates 12 bytes for each, and LLVM \
#     goes on by 16."""
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
# reason_contains = ["Your schedule is slower than the unscheduled function"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# speed = "failed"
# ///
# %%
# Nothing is odd in the module: TVM makes vectors of three of the buffer by itself. By what TVM
# allocates, what is stored from the 75,000th on lies behind it; the runner's builds have the room.
sch = install(
    """
    loc = T.sblock_alloc_buffer((100000, 3), "float32")
    with T.sblock("all"):
        T.reads(x[0, 0, 0, 0:3])
        T.writes(y[0, 0, 0, 0:3])
        for k in range(100000):
            for lane in T.vectorized(3):
                loc[k, lane] = x[0, 0, 0, lane]
        for k in range(100000):
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[k, lane]
    """
)
