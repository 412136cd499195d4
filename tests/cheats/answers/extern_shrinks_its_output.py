# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    given = torch.from_dlpack(out)
    given.resize_(0)
    given.set_()


def create_extern_model():
    return build_extern_model()
