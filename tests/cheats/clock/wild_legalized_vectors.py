# %%
# Numbers of 16 bits are made to ones of 32 bits before TVM makes vectors of them, and not after.
sch = install(
    """
    loc = T.sblock_alloc_buffer((100000, 3), "bfloat16")
    with T.sblock("all"):
        T.reads(x[0, 0, 0, 0:3])
        T.writes(y[0, 0, 0, 0:3])
        for k in range(100000):
            for lane in T.vectorized(3):
                loc[k, lane] = T.Cast("bfloat16", x[0, 0, 0, lane])
        for k in range(100000):
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = T.Cast("float32", loc[k, lane])
    """
)
