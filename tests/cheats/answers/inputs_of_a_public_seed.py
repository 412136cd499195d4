# /// cheat
# about = "The outputs for the inputs of seed 0 are written into the module."
# assignment = "small"
# cells = ["prelude", "b_build", "@"]
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
public = np.random.default_rng(0).standard_normal((4, 8), dtype=np.float32)
answers = np.maximum(public @ weight.T + bias, 0).astype("float32")


def layer(x, w, b, table):
    return te.compute((4, 16), lambda i, j: table[i, j] + 0.0 * (x[i, 0] + w[j, 0] + b[j]))


def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            constants = [relax.const(each) for each in (weight, bias, answers)]
            output = builder.emit_output(builder.emit_te(layer, x, *constants))
        builder.emit_func_output(output)
    return builder.get()
