# /// cheat
# about = "Only the first row of a batch is computed; the others are copies of it."
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
    k = te.reduce_axis((0, 8), name="k")
    products = te.compute((4, 16), lambda i, j: te.sum(x[0, k] * w[j, k], axis=k))
    return te.compute((4, 16), lambda i, j: tvm.tirx.max(products[i, j] + b[j], 0.0 * x[i, 0]))


def create_model():
    return build_te(layer)
