# %%
def layer(x, w, b):
    return te.compute((4, 16), lambda i, j: tvm.tirx.max(b[j] + 0.0 * w[j, 0], 0.0 * x[i, 0]))


def create_model():
    return build_te(layer)
