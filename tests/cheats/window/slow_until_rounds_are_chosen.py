# /// cheat
# about = """A function takes milliseconds in its first calls, so that slices of few rounds \
#     are chosen for it."""
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
# Three blocks are tried for the number of rounds, eleven calls after the first one.
# %%
sch = uneven(between(14, 4000000), sines=20000)
