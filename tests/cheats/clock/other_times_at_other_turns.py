# /// cheat
# about = """A function is quick while arrays lie at one of their four placements, and slow at \
#     the others."""
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
# The quickest of a function's times at all placements count, and so do those of the others.
# %%
sch = uneven(between(0, 400, every(1600)))
