# /// cheat
# about = """Half of the schedules that are drawn write out so many rounds that building one takes \
#     minutes."""
# assignment = "kinds"
# cells = ["prelude", "bmm", "@"]
#
# [expect]
# problems = []
#
# [expect.part.bmm]
# score = 10
#
# [expect.part.space]
# reason_contains = ["Schedules sampled from the space: 16."]
# ///
# It gains nothing by it, and holds up nobody: those are not tried, and one of the others is graded.
# Of sixteen that are drawn there are others all but once in 65,536 times; of six, once in 64 not.
# %%
MyBmm = Unscheduled


def space(sch):
    number = sch.sample_categorical([1, 40, 50], [0.5, 0.25, 0.25])
    for loop in sch.get_loops(sch.get_sblock("Y", func_name="bmm_relu"))[1:]:
        for part in sch.split(loop, [number, 8]):
            sch.unroll(part)
