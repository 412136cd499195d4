# /// cheat
# about = "A function carries a target of its own: another processor, other options."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["target"]
# ///
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
