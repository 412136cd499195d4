# /// cheat
# about = "A packed function is called as an operator that is said to have no effects."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["runtime.GetGlobalFunc"]
# ///
# %%
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    result = R.Tensor((4, 16), "float32")
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(
                builder.emit(relax.op.call_pure_packed("runtime.GetGlobalFunc", x, ty_args=result))
            )
        builder.emit_func_output(output)
    return builder.get()
