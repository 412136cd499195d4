# /// cheat
# about = "An annotation brings C text of the student's own into the module."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["pragma_import_c"]
# ///
# %%
def create_model():
    schedule = tvm.s_tir.Schedule(build(right_layer))
    block = schedule.get_sblock("layer", func_name="layer")
    schedule.annotate(
        schedule.get_loops(block)[0], "pragma_import_c", "int stranger(void) { return 0; }"
    )
    return schedule.mod
