# /// cheat
# about = """An extern does the layer and its activation with PyTorch: allowed, as an extern may \
#     call any library."""
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.extern]
# score = 10
#
# [expect.part.extern.check]
# extern_call = "passed"
# writes_output = "passed"
# equivalence = "passed"
# ///
# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    out.copy_(torch.relu(torch.nn.functional.linear(x, w, b)))


def create_extern_model():
    return build_extern_model()
