# The function of the earlier part can be read off the target too: its points are had, and due.
# %%
sch = tvm.s_tir.Schedule(Target)
