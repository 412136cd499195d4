# /// cheat
# about = "The target, which students are shown, is copied and handed in as what was scheduled."
# assignment = "kinds"
# cells = ["prelude", "target", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.bmm]
# score = 10
#
# [expect.part.transform]
# score = 0
# reason_contains = ["It equals the target", "graded only on its result"]
# ///
# The function of the earlier part can be read off the target too: its points are had, and due.
# %%
sch = tvm.s_tir.Schedule(Target)
