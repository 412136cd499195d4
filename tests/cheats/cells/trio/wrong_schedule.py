def layer_to_schedule():
    """Forget the ReLU: whatever the schedule, the outputs are wrong."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            output = builder.emit_output(dense)
        builder.emit_func_output(output)
    return builder.get()


sch = tvm.s_tir.Schedule(layer_to_schedule())
sch.work_on("dense")
image, feature, summand = sch.get_loops(sch.get_sblock("T_matmul_NT"))
outer, inner = sch.split(feature, factors=[None, 4])
sch.reorder(image, outer, summand, inner)
sch.vectorize(inner)
