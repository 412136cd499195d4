# %%
# Sixteen items are allocated, and the last one lies at 303.
sch = install(
    """
    loc = T.sblock_alloc_buffer((4, 4), "int32", strides=[1, 100])
    for i, j in T.grid(4, 4):
        with T.sblock("write"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(loc[vi, vj])
            loc[vi, vj] = 0
    """
)
