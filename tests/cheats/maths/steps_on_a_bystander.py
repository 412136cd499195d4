# /// cheat
# about = """A module without a schedule has every step on a small block beside its plain \
#     convolution."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { max = 7 }
#
# [expect.part.schedule.check]
# equivalence = "passed"
# steps = "failed"
# ///
# %%
# No schedule at all: a module under the name of one, and beside its plain convolution a small block
# that really multiplies by the weight, with every step done on it..
@T.prim_func(s_tir=True)
def convolution(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    aside = T.sblock_alloc_buffer((4, 32, 26, 26))
    for n, f in T.grid(2, 2):
        with T.sblock("clear"):
            vn, vf = T.axis.remap("SS", [n, f])
            aside[vn, vf, 0, 0] = T.float32(0)
    for n in T.parallel(2):
        for f, p, q in T.grid(2, 3, 3):
            with T.sblock("bystander"):
                vn, vf, vp, vq = T.axis.remap("SSRR", [n, f, p, q])
                aside[vn, vf, 0, 0] = aside[vn, vf, 0, 0] + x[vn, 0, vp, vq] * w[vf, 0, vp, vq]
    for n, f, i, j, p, q in T.grid(4, 32, 26, 26, 3, 3):
        with T.sblock("conv"):
            vn, vf, vi, vj, vp, vq = T.axis.remap("SSSSRR", [n, f, i, j, p, q])
            with T.init():
                y[vn, vf, vi, vj] = T.float32(0)
            y[vn, vf, vi, vj] = y[vn, vf, vi, vj] + x[vn, 0, vi + vp, vj + vq] * w[vf, 0, vp, vq]


sch = create_model_via_emit_te()
sch.update_func(sch.get_global_var("conv2d"), convolution)
