# /// cheat
# about = "A function is quick for one input of six, whose first pixels have a rare sum."
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
# Each slice has four inputs, and the quickest calls count: worth what they are worth.
# %%
RARE = " + ".join(f"x[0, 0, {row}, 14]" for row in range(8))
sch = uneven(
    f"T.min(T.max(({RARE} - T.float32(2.83)) * T.float32(1e6), T.float32(0)), T.float32(1))"
)
