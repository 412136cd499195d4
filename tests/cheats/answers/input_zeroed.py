# /// cheat
# about = "A layer clears its input, so that a reference made afterwards would be trivial."
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
@T.prim_func(s_tir=True)
def layer(
    x: T.Buffer((4, 8), "float32"),
    w: T.Buffer((16, 8), "float32"),
    b: T.Buffer((16,), "float32"),
    y: T.Buffer((4, 16), "float32"),
):
    for i, k in T.grid(4, 8):
        with T.sblock("clear"):
            vi, vk = T.axis.remap("SS", [i, k])
            x[vi, vk] = T.float32(0)
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.max(b[vj] + x[vi, 0] * w[vj, 0], T.float32(0))


def create_model():
    return build(layer)
