# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b = map(torch.from_dlpack, (x, w, b))
    return torch.nn.functional.linear(x, w, b).numpy().tolist()


def create_extern_model():
    return build_extern_model()
