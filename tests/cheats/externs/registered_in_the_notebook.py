# /// cheat
# about = "The layer is a Python function of the notebook, where a graph of TIR was asked for."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["env.layer"]
# ///
# %%
@tvm.register_global_func("env.layer", override=True)
def layer(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    out.copy_(torch.nn.functional.linear(x, w, b).relu())


def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    result = R.Tensor((4, 16), "float32")
    with builder.function("main", [x]):
        with builder.dataflow():
            given = [x, relax.const(weight), relax.const(bias)]
            output = builder.emit_output(
                builder.emit(relax.op.call_dps_packed("env.layer", relax.Tuple(given), result))
            )
        builder.emit_func_output(output)
    return builder.get()
