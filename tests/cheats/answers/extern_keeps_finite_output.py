# /// cheat
# about = "An extern writes only where its output is not finite yet."
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

    fresh = torch.isnan(out)
    out[fresh] = torch.zeros(())


def create_extern_model():
    return build_extern_model()
