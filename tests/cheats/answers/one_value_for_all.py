# /// cheat
# about = """One number of shape (4, 1) is returned, which would broadcast against any expected \
#     output."""
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# reason_contains = ["shape"]
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
                builder.emit_te(lambda a: topi.sum(a, axis=1, keepdims=True), relu)
            )
        builder.emit_func_output(output)
    return builder.get()
