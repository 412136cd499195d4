# /// cheat
# about = "A loop of the module has more iterations than a year has time for."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# reason_contains = ["time limit"]
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
        with T.sblock("clear"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = b[vj]
    for i, j, k in T.grid(1000000, 1000000, 64):
        with T.sblock("layer"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            T.reads(x[0:4, 0], w[0:16, 0], y[0:4, 0:16])
            T.writes(y[0:4, 0:16])
            y[vi % 4, vk % 16] = T.sin(y[vi % 4, vk % 16]) + x[vi % 4, 0] * w[vj % 16, 0]


def create_model():
    return build(layer)
