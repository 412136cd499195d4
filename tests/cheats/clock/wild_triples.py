# %%
# The last of 100,000 vectors begins 400 KB behind the end of the allocation.
sch = install(
    """
    loc = T.alloc_buffer((100000,), "float32x3")
    for k in range(100000):
        loc[k] = T.Broadcast(T.Cast("float32", k), 3)
    """
)
