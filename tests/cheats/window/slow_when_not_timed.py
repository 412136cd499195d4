# /// cheat
# about = """A function is slow in the first of three calls, which is not timed, and quick in \
#     the two that are."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "b_uneven", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { max = 26.2 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# ///
# What is slow disturbs nobody but the function itself.
# %%
sch = uneven(f"T.min({every(3)}, T.float32(1))")
