# /// cheat
# about = """A function is quick in a few slices only, so that the interval of its time is \
#     wide and its points are rounded up."""
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
# Points are rounded to a grid as coarse as their interval. Of 10.5, whose interval was 7.1 wide,
# 14.2 were made. Each place of the stack has one quick slice among fifty: a hundredth of all.
# %%
sch = uneven(between(380, 760))
