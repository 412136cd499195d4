# /// cheat
# about = "A function claims to be compiled already."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["calling_conv"]
# ///
# %%
def create_model():
    module = build(right_layer)
    variable = module.get_global_var("layer")
    module.update_func(variable, module[variable].with_attr("calling_conv", 1))
    return module
