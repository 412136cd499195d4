# /// cheat
# about = "An extern clears input, weight and bias, so that any reference would be zero."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.extern]
# score = 4
#
# [expect.part.extern.check]
# extern_call = "passed"
# writes_output = "passed"
# equivalence = "failed"
# ///
# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    for each in (x, w, b, out):
        each.zero_()


def create_extern_model():
    return build_extern_model()
