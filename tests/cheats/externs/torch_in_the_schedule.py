# /// cheat
# about = "The scheduled module has its convolution done by PyTorch, through a registered function."
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
# score = 0
# ///
# %%
@tvm.register_global_func("env.conv2d", override=True)
def convolution(x, w, out):
    x, w, out = map(torch.from_dlpack, (x, w, out))
    out.copy_(torch.nn.functional.conv2d(x, w))


@T.prim_func(s_tir=True)
def through_the_registry(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    T.evaluate(T.call_packed("env.conv2d", x.data, w.data, y.data))


mod = create_model_via_emit_te()
mod.update_func(mod.get_global_var("conv2d"), through_the_registry)
sch = tvm.s_tir.Schedule(mod)
