# /// cheat
# about = "The module carries an attribute that names a library to link."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["system_lib_prefix"]
# ///
# %%
def create_model():
    return build(right_layer).with_attr("system_lib_prefix", "stranger")
