# %%
# Every index that is written down is at most 7.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = k
    for b in T.serial(1, 9):
        loc[T.Ramp(b * b // (b + 1), 1, 8)] = T.Broadcast(0, 8)
    """
)
