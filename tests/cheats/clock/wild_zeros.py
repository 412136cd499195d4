# %%
# A clamp does not help: what LLVM does not know has no minimum.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:8])
            loc[T.min(T.max(T.clz(b * b // (b + 1) - b + 1), 0), 7)] = b
    """
)
