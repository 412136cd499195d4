# /// cheat
# about = """Beside a wrong `main` stands a right function, as everybody else has it: it is not \
#     asked."""
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
def _emit(builder, name, *constants):
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function(name, [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, *constants)
            output = builder.emit_output(builder.emit_te(topi.nn.relu, dense))
        builder.emit_func_output(output)


def create_model():
    builder = relax.BlockBuilder()
    _emit(builder, "right", relax.const(weight), relax.const(bias))
    _emit(builder, "main", relax.const(weight), relax.const(-bias))
    return builder.get()
