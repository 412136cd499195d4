# /// cheat
# about = "A module has fifteen hundred layers, each in a function of its own."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# ///
# %%
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            h = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            for step in range(1_500):
                factor = 1.0 + step / 10_000  # each layer is another one
                h = builder.emit_te(lambda a: te.compute((4, 16), lambda i, j: a[i, j] * factor), h)
            output = builder.emit_output(h)
        builder.emit_func_output(output)
    return builder.get()
