# /// cheat
# about = "The layer ignores its input and returns the output of an average one."
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
    return te.compute((4, 16), lambda i, j: tvm.tirx.max(b[j] + 0.0 * w[j, 0], 0.0 * x[i, 0]))


def create_model():
    return build_te(layer)
