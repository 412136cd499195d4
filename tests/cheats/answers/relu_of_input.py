# %%
def layer(x, w, b):
    return te.compute(
        (4, 16),
        lambda i, j: tvm.tirx.max(
            x[i, j % 8] + 0.0 * w[j, 0] + b[j], tvm.tirx.const(0.0, "float32")
        ),
    )


def create_model():
    return build_te(layer)
