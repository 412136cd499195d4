# %%
# With what an earlier call has left in the workspace, this looks up answers.
sch = install(
    """
    loc = T.alloc_buffer((4096,), "float32")
    for b in T.serial(4096):
        with T.sblock("write"):
            vb = T.axis.spatial(4096, b)
            T.reads(x[0, 0, 0, 0:28])
            T.writes(loc[vb])
            loc[vb] = T.reinterpret(
                "float32",
                T.Cast("int32", x[0, 0, 0, 0] > T.float32(1))
                * T.reinterpret("int32", x[0, 0, 0, vb % 28]),
            )
    """
)
