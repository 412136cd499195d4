# /// cheat
# about = "The module declares a device of its own."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["TargetKind"]
# ///
# %%
def create_model():
    module = build(right_layer)
    module.update_global_info("vdevice", [tvm.relax.VDevice("llvm")])
    return module
