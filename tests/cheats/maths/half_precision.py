# %%
def layer(x, w, b):
    k = te.reduce_axis((0, 8), name="k")
    half = te.compute(
        (4, 16),
        lambda i, j: te.sum(x[i, k].astype("float16") * w[j, k].astype("float16"), axis=k),
    )
    return te.compute(
        (4, 16),
        lambda i, j: tvm.tirx.max(
            half[i, j].astype("float32") + b[j], tvm.tirx.const(0, "float32")
        ),
    )


def create_model():
    return build_te(layer)
