# /// cheat
# about = "A PrimFunc names an intrinsic of LLVM."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["call_llvm_pure_intrin"]
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
                T.call_llvm_pure_intrin("float32", "llvm.sqrt.f32", x[vi, 0]) + w[vj, 0] + b[vj]
            )


def create_model():
    return build(layer)
