# /// cheat
# about = "A loop of a million iterations is to be written out by the compiler."
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
        with T.sblock("clear"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = b[vj] + w[vj, 0]
    for i in T.serial(4):
        for k in T.unroll(1000000):
            with T.sblock("layer"):
                vi, vk = T.axis.remap("SS", [i, k])
                T.reads(x[vi, 0], y[vi, 0:16])
                T.writes(y[vi, 0:16])
                y[vi, vk % 16] = T.sin(y[vi, (vk + 1) % 16]) + x[vi, 0]


def create_model():
    return build(layer)
