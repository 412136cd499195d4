# %%
def create_model():
    return build(right_layer).with_attr("system_lib_prefix", "stranger")
