# /// cheat
# about = """Attributes of a function are set that might keep passes from it, beside vectors of \
#     three."""
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
# What a function says of itself decides which passes see it: one that is scheduled, of no symbol,
# without aliases, and of a pattern; and names that nobody knows, in hope that one of them is known.
sch = install(
    """
    loc = T.sblock_alloc_buffer((30000, 3), "float32")
    for k in range(30000):
        with T.sblock("write"):
            vk = T.axis.spatial(30000, k)
            T.reads(x[0, 0, 0, 0:3])
            T.writes(loc[vk, 0:3])
            for lane in T.vectorized(3):
                loc[vk, lane] = x[0, 0, 0, lane]
    for k in range(30000):
        with T.sblock("read"):
            vk = T.axis.spatial(30000, k)
            T.reads(loc[vk, 0:3])
            T.writes(y[0, 0, 0, 0:3])
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[vk, lane]
    """
)
attributes = {
    "tirx.is_scheduled": True,
    "tirx.noalias": True,
    "op_pattern": 8,
    "Primitive": 1,
    "tir.HoistIfThenElse": 1,
    "tirx.disable_vectorize": True,
    "grader.default": False,
    "tirx.room": False,
}
model = sch.mod
name = model.get_global_var("conv2d")
model.update_func(name, model[name].with_attrs(attributes))
sch = tvm.s_tir.Schedule(model)
