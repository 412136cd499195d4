# /// cheat
# about = "An extern returns without having touched its output."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.extern]
# score = 0
#
# [expect.part.extern.check]
# extern_call = "failed"
# writes_output = "not_graded"
# equivalence = "not_graded"
# ///
# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    return


def create_extern_model():
    return build_extern_model()
