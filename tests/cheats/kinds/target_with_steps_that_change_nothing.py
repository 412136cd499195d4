# /// cheat
# about = "The copied target is scheduled with steps that end where they began."
# assignment = "kinds"
# cells = ["prelude", "target", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.transform]
# score = 0
# reason_contains = ["already changed"]
# ///
# A trace that is not empty, of a function that was scheduled before.
# %%
sch = tvm.s_tir.Schedule(Target)
i = sch.get_loops(sch.get_sblock("C", func_name="bmm_relu"))[1]
sch.fuse(*sch.split(i, factors=[2, 4]))
