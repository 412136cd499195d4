@tvm.register_global_func("cheats.linear", override=True)
def linear(x, w, b, out):
    x, w, b = (torch.from_dlpack(each) for each in (x, w, b))
    torch.from_dlpack(out)[:] = torch.nn.functional.linear(x, w, b)


def create_extern_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit(
                relax.op.call_dps_packed(
                    "cheats.linear",
                    (x, relax.const(weight), relax.const(bias)),
                    R.Tensor((4, 16), "float32"),
                )
            )
            output = builder.emit_output(builder.emit_te(topi.nn.relu, dense))
        builder.emit_func_output(output)
    return builder.get()
