# /// cheat
# about = "An extern returns a tensor in place of writing its output."
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
# ///
# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b = map(torch.from_dlpack, (x, w, b))
    return torch.nn.functional.linear(x, w, b).numpy().tolist()


def create_extern_model():
    return build_extern_model()
