# /// cheat
# about = "A layer gives the right numbers to an empty output, and keeps what is in another."
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
# equivalence = "not_graded"
# ///
# %%
@T.prim_func(s_tir=True)
def layer(
    x: T.Buffer((4, 8), "float32"),
    w: T.Buffer((16, 8), "float32"),
    b: T.Buffer((16,), "float32"),
    y: T.Buffer((4, 16), "float32"),
):
    product = T.sblock_alloc_buffer((4, 16))
    for i, j, k in T.grid(4, 16, 8):
        with T.sblock("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                product[vi, vj] = b[vj]
            product[vi, vj] = product[vi, vj] + x[vi, vk] * w[vj, vk]
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(product[vi, vj], y[vi, vj])
            T.writes(y[vi, vj])
            if T.isnan(y[vi, vj]):
                y[vi, vj] = T.max(product[vi, vj], T.float32(0))


def create_model():
    return build(layer)
