# /// cheat
# about = "An annotation is used that no part of TVM is known to read."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["software_pipeline_stage"]
# ///
# %%
def create_model():
    schedule = tvm.s_tir.Schedule(build(right_layer))
    block = schedule.get_sblock("layer", func_name="layer")
    schedule.annotate(schedule.get_loops(block)[0], "software_pipeline_stage", [0, 0])
    return schedule.mod
