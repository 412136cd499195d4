# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    for each in (x, w, b, out):
        each.zero_()


def create_extern_model():
    return build_extern_model()
