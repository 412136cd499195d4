# %%
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            relu = builder.emit_te(topi.nn.relu, dense)
            output = builder.emit_output(relax.Tuple([dense, relu]))
        builder.emit_func_output(output)
    return builder.get()
