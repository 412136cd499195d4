# /// cheat
# about = """A function takes another time in each slice, so that the quickest times never \
#     repeat and slices are waited for as long as may be."""
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
# score = { max = 15.5 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# ///
# Sixty pauses and twice the budget: ten to seventeen seconds in place of two to five.
# %%
sch = uneven(f"T.min({every(97)} * {every(89)} * T.float32(1e-4), T.float32(1))")
