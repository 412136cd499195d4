# %%
def create_model():
    module = build(right_layer)
    variable = module.get_global_var("layer")
    module.update_func(
        variable,
        module[variable].with_attr(
            "target", tvm.target.Target({"kind": "llvm", "mcpu": "skylake-avx512"})
        ),
    )
    return module
