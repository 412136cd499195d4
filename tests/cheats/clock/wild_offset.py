# %%
# The offset is added to every index and to no allocation.
sch = install(
    """
    loc = T.sblock_alloc_buffer((8,), "int32", elem_offset=100)
    for i in range(8):
        with T.sblock("write"):
            vi = T.axis.spatial(8, i)
            T.reads()
            T.writes(loc[vi])
            loc[vi] = 0
    """
)
