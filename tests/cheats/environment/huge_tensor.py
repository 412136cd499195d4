# /// cheat
# about = "An intermediate result is larger than the memory that it may have."
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
            shape = (4, 16, 4096, 4096)
            huge = builder.emit_te(lambda a: te.compute(shape, lambda i, j, k, m: a[i, j]), dense)
            output = builder.emit_te(
                lambda a: te.compute((4, 16), lambda i, j: a[i, j, i, j]), huge
            )
            output = builder.emit_output(output)
        builder.emit_func_output(output)
    return builder.get()
