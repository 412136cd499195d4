# /// cheat
# about = "A packed function is called as an operator that works in place."
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
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(
                builder.emit(
                    relax.op.call_inplace_packed(
                        "runtime.GetGlobalFunc",
                        x,
                        inplace_indices=[0],
                        ty_args=R.Tensor((4, 8), "float32"),
                    )
                )
            )
        builder.emit_func_output(output)
    return builder.get()
