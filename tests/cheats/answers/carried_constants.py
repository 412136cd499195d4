# /// cheat
# about = """Layers of the right shapes whose numbers are made up, in hope of points for each of \
#     them."""
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
    """Every layer is there, takes the one before, and gives zeros times it and a constant."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
    shapes = [(4, 32, 26, 26), (4, 32, 13, 13), (4, 5408), (4, 100), (4, 10)]
    names = ["conv2d_weight", None, None, "linear0_weight", "linear1_weight"]

    def layer(h, *w, shape):
        zero = h[(0,) * len(h.shape)] * 0.0
        for each in w:
            zero = zero + each[(0,) * len(each.shape)] * 0.0
        return te.compute(
            shape, lambda *at: zero + te.const(0.1, "float32") * at[-1].astype("float32")
        )

    with builder.function("main", [x]):
        with builder.dataflow():
            h = x
            for shape, name in zip(shapes, names):
                given = (h,) if name is None else (h, constant(name))
                h = builder.emit_te(layer, *given, shape=shape)
            output = builder.emit_output(h)
        builder.emit_func_output(output)
    return builder.get()
