# %%
# With rows of one item, sixteen rows of sixteen take 31 items; TVM allocates sixteen.
sch = install(
    """
    loc = T.sblock_alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.sblock("write"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(loc[vi, vj])
            T.sblock_attr({"buffer_dim_align": [[0, 0, -16, 1]]})
            loc[vi, vj] = T.float32(0)
    """
)
