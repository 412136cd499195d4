# /// cheat
# about = "An extern multiplies in float16."
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

    out.copy_(torch.nn.functional.linear(x.half(), w.half(), b.half()).float())


def create_extern_model():
    return build_extern_model()
