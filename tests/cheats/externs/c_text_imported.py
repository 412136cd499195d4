# %%
def create_model():
    schedule = tvm.s_tir.Schedule(build(right_layer))
    block = schedule.get_sblock("layer", func_name="layer")
    schedule.annotate(
        schedule.get_loops(block)[0], "pragma_import_c", "int stranger(void) { return 0; }"
    )
    return schedule.mod
