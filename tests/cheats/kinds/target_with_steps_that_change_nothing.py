# A trace that is not empty, of a function that was scheduled before.
# %%
sch = tvm.s_tir.Schedule(Target)
i = sch.get_loops(sch.get_sblock("C", func_name="bmm_relu"))[1]
sch.fuse(*sch.split(i, factors=[2, 4]))
