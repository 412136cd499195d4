# /// cheat
# about = """A tensor between two functions has items of 24 bits, for which the virtual machine \
#     allocates three bytes each."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = 0
# reason_contains = ["has items of type `int24`"]
# ///
# %%
# Neither function allocates anything: what the first one writes is as large as the machine made it.
builder = relax.BlockBuilder()
x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
with builder.function("main", [x]):
    with builder.dataflow():
        h = builder.emit_te(topi.nn.conv2d, x, constant("conv2d_weight"), 1, 0, 1)
        h = builder.emit_te(topi.cast, h, "int24")
        h = builder.emit_te(topi.cast, h, "float32")
        h = builder.emit_te(topi.add, h, constant("conv2d_bias", (1, 32, 1, 1)))
        output = builder.emit_output(finish(builder, h))
    builder.emit_func_output(output)
sch = tvm.s_tir.Schedule(builder.get())
