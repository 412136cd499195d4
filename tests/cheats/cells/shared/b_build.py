from tvm.script import tirx as T


def build(layer):
    """Return a module whose `main` is one call of `layer`, a PrimFunc of four arrays."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            call = relax.call_tir(
                builder.add_func(layer, "layer"),
                relax.Tuple([x, relax.const(weight), relax.const(bias)]),
                R.Tensor((4, 16), "float32"),
            )
            output = builder.emit_output(builder.emit(call))
        builder.emit_func_output(output)
    return builder.get()


def build_te(layer):
    """Return a module whose `main` is one call of `layer`, a function of tensor expressions."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit_te(layer, x, relax.const(weight), relax.const(bias))
            output = builder.emit_output(made)
        builder.emit_func_output(output)
    return builder.get()


@T.prim_func(s_tir=True)
def right_layer(
    x: T.Buffer((4, 8), "float32"),
    w: T.Buffer((16, 8), "float32"),
    b: T.Buffer((16,), "float32"),
    y: T.Buffer((4, 16), "float32"),
):
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.max(
                b[vj]
                + x[vi, 0] * w[vj, 0]
                + x[vi, 1] * w[vj, 1]
                + x[vi, 2] * w[vj, 2]
                + x[vi, 3] * w[vj, 3]
                + x[vi, 4] * w[vj, 4]
                + x[vi, 5] * w[vj, 5]
                + x[vi, 6] * w[vj, 6]
                + x[vi, 7] * w[vj, 7],
                T.float32(0),
            )
