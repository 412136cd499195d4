# /// cheat
# about = "Three hundred names are registered, among them patterns and paths, for the same extern."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.extern]
# score = 10
# ///
# %%
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    out.copy_(torch.nn.functional.linear(x, w, b))


for name in ("*", "env.*", "../env.dense", "relax.*", "[a-z]*", "runtime.*", "a b"):
    tvm.register_global_func(name, dense, override=True)
for number in range(300):
    tvm.register_global_func(f"env.dense{number}", dense, override=True)
tvm.register_global_func("env.dense", dense, override=True)


def create_extern_model():
    return build_extern_model()
