# /// cheat
# about = """An extern is registered under a pattern, so that permission for it would permit \
#     everything."""
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.extern]
# score = 0
# ///
# %%
@tvm.register_global_func("*", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    out.copy_(torch.nn.functional.linear(x, w, b))


def create_extern_model():
    return build_extern_model(name="*")
