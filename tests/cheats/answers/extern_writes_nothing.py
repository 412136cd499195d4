# /// cheat
# about = "An extern returns without having touched its output."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 2
# problems = []
#
# [expect.part.extern]
# score = 2
#
# [expect.part.extern.check]
# extern_call = "passed"
# writes_output = "failed"
# equivalence = "failed"
# ///
# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    return


def create_extern_model():
    return build_extern_model()
