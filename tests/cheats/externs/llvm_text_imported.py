# %%
def create_model():
    schedule = tvm.s_tir.Schedule(build(right_layer))
    block = schedule.get_sblock("layer", func_name="layer")
    schedule.annotate(
        schedule.get_loops(block)[0], "pragma_import_llvm", "define i32 @stranger() { ret i32 0 }"
    )
    return schedule.mod
