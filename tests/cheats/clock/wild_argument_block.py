# /// cheat
# about = """The function reads the addresses of its arguments from the stack and writes them into \
#     its output."""
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
# Loads alone: what lies behind the buffer is copied to where the referee's inputs are compared.
sch = install(
    """
    loc = T.alloc_buffer((8,), "float32")
    for k in range(8):
        loc[k] = T.Cast("float32", x[0, 0, 0, k])
    for b in T.serial(1, 64):
        with T.sblock("read"):
            T.reads(loc[0:8])
            T.writes(y[0:4, 0:32, 0:26, 0:26])
            y[0, 0, 0, b % 26] = loc[one_less(b)]
    """
)
