# /// cheat
# about = "Products with inputs near zero are left out."
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
    zero = tvm.tirx.const(0, "float32")

    def product(i, j):
        return tvm.tirx.Select(tvm.tirx.abs(x[i, k]) < 0.05, zero, x[i, k] * w[j, k])

    products = te.compute((4, 16), lambda i, j: te.sum(product(i, j), axis=k))
    return te.compute((4, 16), lambda i, j: tvm.tirx.max(products[i, j] + b[j], zero))


def create_model():
    return build_te(layer)
