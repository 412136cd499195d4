# /// cheat
# about = "The layer returns its input twice and takes weight and bias for show."
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
    return te.compute((4, 16), lambda i, j: x[i, j % 8] + 0.0 * (w[j, 0] + b[j]))


def create_model():
    return build_te(layer)
