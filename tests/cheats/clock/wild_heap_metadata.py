# %%
# A buffer of four megabytes is the workspace's, whose notes lie in front of it.
sch = install(
    """
    big = T.sblock_alloc_buffer((1048576,), "int32")
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(big[0:1048576])
            big[8 - b * b // (b + 1)] = 0
    """
)
