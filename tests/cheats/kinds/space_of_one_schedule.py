# /// cheat
# about = "A draw between three numbers that are all the same: it looks like a space, and is none."
# assignment = "kinds"
# cells = ["prelude", "bmm", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.bmm]
# score = 10
#
# [expect.part.space]
# score = 0
# reason_contains = ["Distinct programs among the others: 1"]
# ///
# What is drawn is not counted, but what comes of it.
# %%
MyBmm = Unscheduled


def space(sch):
    loops = sch.get_loops(sch.get_sblock("Y", func_name="bmm_relu"))
    sch.split(loops[1], [None, sch.sample_categorical([4, 4, 4], [0.3, 0.3, 0.4])])
