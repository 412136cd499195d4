# /// cheat
# about = "Fused functions are called and count for nothing: a TensorIR function does the work."
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.rewritten]
# score = 0
#
# [expect.part.rewritten.check]
# fused = "passed"
# left = "failed"
# equivalence = "not_graded"
# ///
# What is not an operator is not counted among those that are left, so it may not be there.
# %%
def layer(name, relu):
    builder = relax.BlockBuilder()
    parameters = [relax.Var("p", R.Tensor(shape, "float32")) for shape in [(2, 3), (3, 3), (3,)]]
    with builder.function(name, parameters, attrs={"Primitive": True}, private=True):
        with builder.dataflow():
            output = builder.emit(relax.op.matmul(*parameters[:2]))
            output = builder.emit(relax.op.add(output, parameters[2]))
            output = builder.emit_output(relax.op.nn.relu(output) if relu else output)
        builder.emit_func_output(output)
    return builder.get()[name]


@tvm.transform.module_pass(opt_level=0)
def Rewrite(module, context):
    weights = []

    def note(value):
        if isinstance(value, tvm.ir.GenericConst):
            weights.append(value)

    relax.analysis.post_order_visit(module["main"], note)
    w0, b0, w1, b1 = sorted(weights, key=lambda each: -each.value.numpy().size)[:1] + [
        next(each for each in weights if each.value.numpy().shape == shape)
        for shape in [(8,), (3, 8), (3,)]
    ]
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 6), "float32"))
    nothing = relax.const(np.zeros((3, 3), "float32")), relax.const(np.zeros(3, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            hidden = builder.emit_te(topi.nn.dense, x, w0)
            hidden = builder.emit_te(topi.nn.relu, builder.emit_te(topi.add, hidden, b0))
            output = builder.emit_te(topi.nn.dense, hidden, w1)
            output = builder.emit_te(topi.add, output, b1)
            for name in ("first", "second"):
                function = builder.add_func(layer(name, name == "first"), name)
                shown = builder.emit(relax.Call(function, [output, *nothing]))
                output = builder.emit_te(topi.add, output, shown)
            output = builder.emit_output(output)
        builder.emit_func_output(output)
    return builder.get()
