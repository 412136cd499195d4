# %%
def create_model():
    module = build(right_layer)
    module.update_global_info("vdevice", [tvm.relax.VDevice("llvm")])
    return module
