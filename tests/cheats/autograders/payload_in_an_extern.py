# /// cheat
# about = "The pickle of an extern runs a command while it is loaded."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 2
# problems = []
#
# [expect.part.extern]
# score = 2
#
# [expect.part.extern.check]
# extern_call = "passed"
# equivalence = "not_graded"
# ///
# %%
import os


class Payload:
    """Pickled as a call of os.system."""

    def __reduce__(self):
        return os.system, ("touch reached",)

    def __call__(self, x, w, b, out):
        torch.from_dlpack(out).zero_()


tvm.register_global_func("env.dense", Payload(), override=True)


def create_extern_model():
    return build_extern_model()
