# /// cheat
# about = "TIR functions do all the work unless the extern gives something else than its zeros."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.extern]
# score = 0
# reason_contains = ["bypasses it"]
#
# [expect.part.extern.check]
# extern_call = "failed"
# writes_output = "not_graded"
# equivalence = "not_graded"
# ///
# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    torch.from_dlpack(out).zero_()


def create_extern_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            call = relax.op.call_dps_packed(
                "env.dense",
                relax.Tuple([x, relax.const(weight), relax.const(bias)]),
                R.Tensor((4, 16), "float32"),
            )
            seen = builder.emit(call)
            flat = relax.const(weight.reshape(-1))
            own = builder.emit_te(lambda a, w: topi.nn.dense(a, topi.reshape(w, (16, 8))), x, flat)
            own = builder.emit_te(topi.add, own, relax.const(bias))
            total = builder.emit_te(
                lambda a, b: te.compute(
                    (4, 16),
                    lambda i, j: tvm.tirx.if_then_else(a[i, j] == 0.0, b[i, j], a[i, j]),
                ),
                seen,
                own,
            )
            output = builder.emit_output(builder.emit_te(topi.nn.relu, total))
        builder.emit_func_output(output)
    return builder.get()
