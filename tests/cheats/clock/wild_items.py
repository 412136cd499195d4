# %%
# Every index is within the extents; the last quarter of the items lies behind what was allocated.
sch = install(
    """
    loc = T.alloc_buffer((400000,), "int24")
    for k in range(400000):
        loc[k] = T.Cast("int24", k)
    """
)
