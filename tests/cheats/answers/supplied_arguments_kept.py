# /// cheat
# about = """What the grader supplies by name is kept and given back: an image, the module that \
#     was built, and a call's number."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "@"]
#
# [expect]
# score = 0
# problems = []
# ///
# %%
# Nothing of these names is in the notebook. What is supplied must not be an answer: the image is
# none that is tried, and there is no module where none was built.
seen = []


class Builder:
    def __call__(self, weights, image, input_shape, mod=None, again=seen):
        again.append((image, mod))
        if mod is not None:
            return mod
        builder = relax.BlockBuilder()
        x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
        told = np.resize(np.asarray(again[0][0], "float32"), (4, 10))
        with builder.function("main", [x]):
            with builder.dataflow():
                output = builder.emit_output(relax.const(told, "float32"))
            builder.emit_func_output(output)
        return builder.get()


create_model_via_emit_te = Builder()
