# /// cheat
# about = "Inputs are cut off at 2, which a comparison near zero would not notice."
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
    bound = tvm.tirx.const(2, "float32")
    products = te.compute(
        (4, 16), lambda i, j: te.sum(tvm.tirx.min(x[i, k], bound) * w[j, k], axis=k)
    )
    return te.compute(
        (4, 16), lambda i, j: tvm.tirx.max(products[i, j] + b[j], tvm.tirx.const(0, "float32"))
    )


def create_model():
    return build_te(layer)
