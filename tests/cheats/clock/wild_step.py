# /// cheat
# about = "A predicate bounds another number than the index, which goes one further."
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = 0
# reason_contains = ["accesses item"]
# ///
# %%
# The predicate lets b be 9: what it compares is 8 there.
sch = install(
    """
    loc = T.sblock_alloc_buffer((8,), "int32")
    for k in range(8):
        loc[k] = k
    for b in T.serial(0, 64, step=3):
        with T.sblock("write"):
            vb = T.axis.spatial(64, b)
            T.where(one_less(b) < 9)
            T.reads()
            T.writes(loc[0:8])
            loc[vb] = 0
    """
)
