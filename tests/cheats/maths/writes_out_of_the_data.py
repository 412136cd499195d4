# /// cheat
# about = "The place to write to is computed from the data, far outside of the output."
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
            T.reads(x[0:4, 0:8], w[vj, 0], b[vj])
            T.writes(y[0:4, 0:16])
            y[0, T.Cast("int32", x[vi, 0] * T.float32(1e9))] = w[vj, 0] + b[vj]


def create_model():
    return build(layer)
