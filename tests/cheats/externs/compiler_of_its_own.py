# %%
def create_model():
    module = build(right_layer)
    variable = module.get_global_var("layer")
    module.update_func(variable, module[variable].with_attr("Codegen", "dnnl"))
    return module
