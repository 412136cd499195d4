# /// cheat
# about = "A layer overwrites the constants that it is given and uses what it left there."
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
    for j, k in T.grid(16, 8):
        with T.sblock("rewrite"):
            vj, vk = T.axis.remap("SS", [j, k])
            w[vj, vk] = w[vj, vk] * T.float32(0.5)
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.max(b[vj] + x[vi, 0] * w[vj, 0], T.float32(0))


def create_model():
    return build(layer)
