# /// cheat
# about = "A PrimFunc calls a function of TVM's registry."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["rpc.CreatePipeClient"]
# ///
# %%
@T.prim_func(s_tir=True)
def layer(
    x: T.Buffer((4, 8), "float32"),
    w: T.Buffer((16, 8), "float32"),
    b: T.Buffer((16,), "float32"),
    y: T.Buffer((4, 16), "float32"),
):
    T.evaluate(T.call_packed("rpc.CreatePipeClient", "/bin/sh"))
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.max(x[vi, 0] * w[vj, 0] + b[vj], T.float32(0))


def create_model():
    return build(layer)
