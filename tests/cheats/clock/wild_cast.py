# %%
# 200 as an int8 is -56.
sch = install(
    """
    loc = T.sblock_alloc_buffer((256,), "int32")
    for b in T.serial(256):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:256])
            loc[T.Cast("int32", T.Cast("int8", b))] = b
    """
)
