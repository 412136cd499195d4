# /// cheat
# about = "Inputs are rounded to the eight bits of bfloat16 before they are multiplied."
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

    def rounded(value):
        bits = tvm.tirx.reinterpret("uint32", value)
        return tvm.tirx.reinterpret("float32", bits & tvm.tirx.const(0xFFFF0000, "uint32"))

    products = te.compute((4, 16), lambda i, j: te.sum(rounded(x[i, k]) * w[j, k], axis=k))
    return te.compute(
        (4, 16), lambda i, j: tvm.tirx.max(products[i, j] + b[j], tvm.tirx.const(0, "float32"))
    )


def create_model():
    return build_te(layer)
