# /// cheat
# about = "A function of the module is declared to be defined elsewhere."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["stranger"]
# ///
# %%
def create_model():
    module = build(right_layer)
    module["stranger"] = relax.ExternFunc("system")
    return module
