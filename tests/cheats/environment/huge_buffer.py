# /// cheat
# about = "A buffer inside of a function is larger than the memory that it may have."
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
    room = T.sblock_alloc_buffer((65536, 16384), "float32")
    for i, j in T.grid(65536, 16384):
        with T.sblock("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            room[vi, vj] = x[vi % 4, vj % 8]
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = room[vi * 20000, vj * 1000] + w[vj, 0] + b[vj]


def create_model():
    return build(layer)
