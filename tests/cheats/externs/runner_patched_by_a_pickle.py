# /// cheat
# about = "An extern's pickle replaces the runner's main function while it is loaded."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = { max = 4 }
# problems = []
#
# [expect.part.extern]
# score = { max = 4 }
#
# [expect.part.extern.check]
# extern_call = "passed"
# ///
# %%
import sys

import numpy


def find(name):
    """Return a local variable of the innermost caller that has one of this name."""
    frame = sys._getframe()
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back
    return None


def right_answers():
    """Compute what the module should give for all inputs of the runner."""
    inputs = numpy.asarray(find("inputs"))
    return numpy.maximum(inputs @ weight.T + bias, 0).astype("float32")


def take_over():
    """Run inside of the runner, before anything is built there."""
    model = sys.modules.get("grader.inside.runner.model")
    if model is None:
        return dense_of_zeros
    model.repeats = lambda *_, **__: True
    plain = model.run_calls

    def run_calls(main, inputs):
        plain(main, inputs)
        return right_answers()

    model.run_calls = run_calls
    return dense_of_zeros


def dense_of_zeros(x, w, b, out):
    torch.from_dlpack(out).zero_()


class Bait:
    """Pickled as a call of take_over."""

    def __reduce__(self):
        return take_over, ()

    def __call__(self, x, w, b, out):
        torch.from_dlpack(out).zero_()


tvm.register_global_func("env.dense", Bait(), override=True)


def create_extern_model():
    return build_extern_model(negate=True)
