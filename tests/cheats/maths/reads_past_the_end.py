# /// cheat
# about = "A loop reads behind the end of its input, into other memory: its graph alone counts."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
@T.prim_func(s_tir=True)
def layer(
    x: T.Buffer((4, 8), "float32"),
    w: T.Buffer((16, 8), "float32"),
    b: T.Buffer((16,), "float32"),
    y: T.Buffer((4, 16), "float32"),
):
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj + 8] + w[vj, 0] + b[vj]


def create_model():
    return build(layer)
