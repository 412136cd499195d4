# %%
def create_model():
    schedule = tvm.s_tir.Schedule(build(right_layer))
    block = schedule.get_sblock("layer", func_name="layer")
    schedule.bind(schedule.get_loops(block)[1], "threadIdx.x")
    return schedule.mod
