# /// cheat
# about = "The module asks TVM to load a shared object from the disk."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["ffi.ModuleLoadFromFile"]
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
                    relax.op.call_dps_packed("ffi.ModuleLoadFromFile", relax.Tuple(given), result)
                )
            )
        builder.emit_func_output(output)
    return builder.get()
