# /// cheat
# about = "One expression is nested ten thousand deep, for whoever reads it recursively."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# ///
# %%
def create_model():
    def layer(x, w, b):
        def deep(i, j):
            value = x[i, 0] * w[j, 0] + b[j]
            for _ in range(10_000):
                value = tvm.tirx.sin(value)
            return value

        return te.compute((4, 16), deep)

    return build_te(layer)
