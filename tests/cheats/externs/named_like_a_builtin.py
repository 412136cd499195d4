# /// cheat
# about = "An extern is registered under the name of a builtin of the virtual machine."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.extern]
# score = 0
# reason_contains = ["name"]
# ///
# %%
@tvm.register_global_func("vm.builtin.copy", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    out.copy_(torch.nn.functional.linear(x, w, b))


def create_extern_model():
    return build_extern_model(name="vm.builtin.copy")
