# /// cheat
# about = "A function asks for a code generator outside of TVM."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["Codegen"]
# ///
# %%
def create_model():
    module = build(right_layer)
    variable = module.get_global_var("layer")
    module.update_func(variable, module[variable].with_attr("Codegen", "dnnl"))
    return module
