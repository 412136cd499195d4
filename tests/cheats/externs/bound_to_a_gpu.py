# /// cheat
# about = "A loop is bound to the threads of a GPU."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["GPU"]
# ///
# %%
def create_model():
    schedule = tvm.s_tir.Schedule(build(right_layer))
    block = schedule.get_sblock("layer", func_name="layer")
    schedule.bind(schedule.get_loops(block)[1], "threadIdx.x")
    return schedule.mod
