# %%
sch = install(
    """
    loc = T.alloc_buffer((4096,), "float32")
    for b in T.serial(4096):
        with T.sblock("write"):
            vb = T.axis.spatial(4096, b)
            T.reads(x[0, 0, 0, 0:28])
            T.writes(loc[vb])
            loc[vb] = x[0, 0, 0, vb % 28] * T.Select(
                x[0, 0, 0, 0] > T.float32(1), T.float32(1), T.float32("nan")
            )
    """
)
