# /// cheat
# about = "Seven of the eight products are summed."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
def layer(x, w, b):
    k = te.reduce_axis((0, 7), name="k")
    products = te.compute((4, 16), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k))
    return te.compute(
        (4, 16), lambda i, j: tvm.tirx.max(products[i, j] + b[j], tvm.tirx.const(0, "float32"))
    )


def create_model():
    return build_te(layer)
