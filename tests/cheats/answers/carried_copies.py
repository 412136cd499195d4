# /// cheat
# about = "Copies of a wrong layer, in hope that what is put in its place counts for them."
# assignment = "e2e-conv"
# cells = ["b_prelude", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.emit_te]
# score = 10
#
# [expect.part.emit_te.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
def create_model_via_emit_te():
    """One wrong convolution, whose values are mended for what follows: copies of it, many times."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            kernel = relax.const(-parameters["conv2d_weight"], "float32")
            h = builder.emit_te(topi.nn.conv2d, x, kernel, 1, 0, 1)
            for _ in range(20):
                h = builder.emit_te(topi.identity, h)
            h = builder.emit_te(topi.nn.flatten, h)
            for name, size in (("linear0_weight", 5408), ("linear1_weight", 100)):
                h = builder.emit_te(first, h, constant(name), size)
            output = builder.emit_output(h)
        builder.emit_func_output(output)
    return builder.get()


def first(h, weight, size):
    """Copy the first numbers, and look at the weight for nothing."""
    return te.compute((4, weight.shape[0]), lambda i, j: h[i, j] + 0.0 * weight[j, 0])
