# %%
hoard = []


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    while True:
        hoard.append(bytearray(2**26))


def create_extern_model():
    return build_extern_model()
