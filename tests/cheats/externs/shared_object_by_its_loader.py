# /// cheat
# about = "The module names the loader of shared objects itself."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["load_from_file"]
# ///
# %%
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    result = R.Tensor((4, 16), "float32")
    with builder.function("main", [x]):
        with builder.dataflow():
            given = [x, relax.const(weight), relax.const(bias)]
            output = builder.emit_output(
                builder.emit(
                    relax.op.call_dps_packed(
                        "ffi.Module.load_from_file.so", relax.Tuple(given), result
                    )
                )
            )
        builder.emit_func_output(output)
    return builder.get()
