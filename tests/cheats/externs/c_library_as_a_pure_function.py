# /// cheat
# about = "A PrimFunc calls `getpid` of the C library as if it were arithmetic."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["getpid"]
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
            y[vi, vj] = (
                x[vi, 0] * w[vj, 0]
                + b[vj]
                + T.Cast("float32", T.call_pure_extern("int32", "getpid"))
            )


def create_model():
    return build(layer)
