# /// cheat
# about = "The right values are returned as float64, which asks for another comparison."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# reason_contains = ["float64"]
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
            output = builder.emit_output(builder.emit_te(lambda a: topi.cast(a, "float64"), relu))
        builder.emit_func_output(output)
    return builder.get()
