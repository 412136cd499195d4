# /// cheat
# about = "All outputs are infinite, so that a relative tolerance is infinite too."
# assignment = "small"
# cells = ["prelude", "@"]
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
# equivalence = "failed"
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
                builder.emit_te(
                    lambda a: te.compute((4, 16), lambda i, j: tvm.tirx.exp(a[i, j] + 1000.0)), relu
                )
            )
        builder.emit_func_output(output)
    return builder.get()
