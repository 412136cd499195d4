# /// cheat
# about = """A function is quick in four of two hundred calls, as the lowest hundredth of its \
#     times counts."""
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
# It is worth what it would be if it were as quick in every call, and no more.
# %%
sch = uneven(between(0, 4, every(200)))
