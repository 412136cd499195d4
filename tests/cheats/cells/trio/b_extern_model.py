def build_extern_model(negate=False, name="env.dense"):
    """Return a module whose layer is done by an extern; with `negate` the rest of it is wrong."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            call = relax.op.call_dps_packed(
                name,
                relax.Tuple([x, relax.const(weight), relax.const(bias)]),
                R.Tensor((4, 16), "float32"),
            )
            dense = builder.emit(call)
            relu = builder.emit_te(topi.nn.relu, dense)
            output = builder.emit_te(topi.negative, relu) if negate else relu
            output = builder.emit_output(output)
        builder.emit_func_output(output)
    return builder.get()
