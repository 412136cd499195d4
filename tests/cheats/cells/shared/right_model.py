def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            output = builder.emit_output(builder.emit_te(topi.nn.relu, dense))
        builder.emit_func_output(output)
    return builder.get()
