# %%
# 65536 times 16385 floats are 2**32 and 262144 bytes: those are allocated.
sch = install(
    """
    big = T.sblock_alloc_buffer((65536, 16385), "float32")
    for i in range(26):
        with T.sblock("write"):
            vi = T.axis.spatial(26, i)
            T.reads()
            T.writes(big[vi * 2500, 0:16385])
            big[vi * 2500, 0] = T.float32(0)
    for i in range(26):
        with T.sblock("read"):
            vi = T.axis.spatial(26, i)
            T.reads(big[vi * 2500, 0:16385])
            T.writes(y[0, 0, 0, vi])
            y[0, 0, 0, vi] = big[vi * 2500, 16384]
    """
)
