# /// cheat
# about = "The layer leaves the product out and applies the activation alone."
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
    return te.compute(
        (4, 16),
        lambda i, j: tvm.tirx.max(
            x[i, j % 8] + 0.0 * w[j, 0] + b[j], tvm.tirx.const(0.0, "float32")
        ),
    )


def create_model():
    return build_te(layer)
