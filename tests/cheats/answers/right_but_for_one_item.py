# /// cheat
# about = "The right module of everybody else, with one weight changed: its answer is not theirs."
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
# Answers are known by the whole of their task; this one is like that of right modules to its end.
# %%
def create_model():
    changed = bias.copy()
    changed[-1] += 8
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(changed))
            output = builder.emit_output(builder.emit_te(topi.nn.relu, dense))
        builder.emit_func_output(output)
    return builder.get()
