# /// cheat
# about = "One row is returned for a whole batch and would broadcast."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            relu = builder.emit_te(topi.nn.relu, dense)
            output = builder.emit_output(
                builder.emit_te(lambda a: topi.max(a, axis=0, keepdims=True), relu)
            )
        builder.emit_func_output(output)
    return builder.get()
