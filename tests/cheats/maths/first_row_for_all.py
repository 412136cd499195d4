# %%
def layer(x, w, b):
    k = te.reduce_axis((0, 8), name="k")
    products = te.compute((4, 16), lambda i, j: te.sum(x[0, k] * w[j, k], axis=k))
    return te.compute((4, 16), lambda i, j: tvm.tirx.max(products[i, j] + b[j], 0.0 * x[i, 0]))


def create_model():
    return build_te(layer)
