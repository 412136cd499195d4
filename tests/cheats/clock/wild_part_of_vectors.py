# %%
# The part is the whole row, and its vectors are those of the buffer.
sch = install(
    """
    loc = T.sblock_alloc_buffer((100000, 3), "float32")
    for k in range(100000):
        with T.sblock("write"):
            vk = T.axis.spatial(100000, k)
            T.reads(x[0, 0, 0, 0:3])
            T.writes(loc[vk, 0:3])
            row = T.match_buffer(loc[vk, 0:3], (3,), "float32", offset_factor=1)
            for lane in T.vectorized(3):
                row[lane] = x[0, 0, 0, lane]
    for k in range(100000):
        with T.sblock("read"):
            vk = T.axis.spatial(100000, k)
            T.reads(loc[vk, 0:3])
            T.writes(y[0, 0, 0, 0:3])
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[vk, lane]
    """
)
