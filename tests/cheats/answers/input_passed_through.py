# %%
def layer(x, w, b):
    return te.compute((4, 16), lambda i, j: x[i, j % 8] + 0.0 * (w[j, 0] + b[j]))


def create_model():
    return build_te(layer)
