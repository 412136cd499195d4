# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    fresh = torch.isnan(out)
    out[fresh] = torch.zeros(())


def create_extern_model():
    return build_extern_model()
