# /// cheat
# about = """The answer alone is larger than all that are kept: those of others stay, and this one \
#     does not."""
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
            large = builder.emit_te(
                lambda a: te.compute((2**19,), lambda i: a[i % 4, i % 16], "large"), relu
            )
            output = builder.emit_output(large)
        builder.emit_func_output(output)
    return builder.get()
