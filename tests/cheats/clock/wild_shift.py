# %%
# The intrinsic becomes shifts by 200 - 31 bits behind all that looks at shifts.
sch = install(
    """
    loc = T.alloc_buffer((8,), "int32")
    for b in T.serial(1, 64):
        with T.sblock("write"):
            T.reads()
            T.writes(loc[0:8])
            loc[T.min(T.max(T.q_multiply_shift(b, 3, 31, 200), 0), 7)] = b
    """
)
