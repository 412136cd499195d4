# /// cheat
# about = "A sum is never set to zero and lives on what the memory holds."
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
    for i, j, k in T.grid(4, 16, 8):
        with T.sblock("layer"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vj, vk] + b[vj] * T.float32(0.125)


def create_model():
    return build(layer)
