# %%
# A round of the loop is a function of its own, with an allocation of its own.
sch = install(
    """
    for t in T.parallel(4):
        with T.sblock("all"):
            vt = T.axis.spatial(4, t)
            T.reads(x[vt, 0, 0, 0:5])
            T.writes(y[vt, 0, 0, 0:5])
            loc = T.sblock_alloc_buffer((20000, 5), "float32")
            for k in range(20000):
                for lane in T.vectorized(5):
                    loc[k, lane] = x[vt, 0, 0, lane]
            for k in range(20000):
                for lane in T.vectorized(5):
                    y[vt, 0, 0, lane] = loc[k, lane]
    """
)
