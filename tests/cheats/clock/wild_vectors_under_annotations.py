# /// cheat
# about = """Vectors of three beside annotations that change how the buffer lies and how its loops \
#     are written."""
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
# reason_contains = ["Your schedule is slower than the unscheduled function"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# speed = "failed"
# ///
# %%
# Annotations of an allocation and of loops go through all passes; those of a buffer are handed on
# to its room.
sch = install(
    """
    loc = T.sblock_alloc_buffer((30000, 3), "float32")
    for k in T.serial(30000, annotations={"pragma_auto_unroll_max_step": 4}):
        with T.sblock("write"):
            vk = T.axis.spatial(30000, k)
            T.sblock_attr({"buffer_dim_align": [[0, 0, 4, 3]], "meta_schedule.cache_type": 0})
            T.reads(x[0, 0, 0, 0:3])
            T.writes(loc[vk, 0:3])
            for lane in T.vectorized(3):
                loc[vk, lane] = x[0, 0, 0, lane]
    for k in T.serial(30000, annotations={"pragma_auto_unroll_max_step": 4}):
        with T.sblock("read"):
            vk = T.axis.spatial(30000, k)
            T.reads(loc[vk, 0:3])
            T.writes(y[0, 0, 0, 0:3])
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[vk, lane]
    """
)
