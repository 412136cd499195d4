# /// cheat
# about = "An extern walks up the stack and writes the right answers over those of the module."
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
import types

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


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    model = sys.modules.get("grader.inside.runner.model", types.SimpleNamespace())
    model.repeats = lambda *_, **__: True
    torch.from_dlpack(out).zero_()
    outputs = find("outputs")
    if outputs is not None:
        outputs[:] = right_answers()


def create_extern_model():
    return build_extern_model(negate=True)
