# /// cheat
# about = "The products are summed in float16."
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
