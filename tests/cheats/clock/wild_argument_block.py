# %%
# Loads alone: what lies behind the buffer is copied to where the referee's inputs are compared.
sch = install(
    """
    loc = T.alloc_buffer((8,), "float32")
    for k in range(8):
        loc[k] = T.Cast("float32", x[0, 0, 0, k])
    for b in T.serial(1, 64):
        with T.sblock("read"):
            T.reads(loc[0:8])
            T.writes(y[0:4, 0:32, 0:26, 0:26])
            y[0, 0, 0, b % 26] = loc[b * b // (b + 1)]
    """
)
