# /// cheat
# about = "A layer keeps what is in its output already, and gives zeros to an empty one."
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
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(x[vi, 0], w[vj, 0], b[vj], y[vi, vj])
            T.writes(y[vi, vj])
            if T.isnan(y[vi, vj]):
                y[vi, vj] = T.float32(0) * (x[vi, 0] + w[vj, 0] + b[vj])


def create_model():
    return build(layer)
