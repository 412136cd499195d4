# %%
def create_model():
    schedule = tvm.s_tir.Schedule(build(right_layer))
    block = schedule.get_sblock("layer", func_name="layer")
    schedule.annotate(schedule.get_loops(block)[0], "software_pipeline_stage", [0, 0])
    return schedule.mod
