# /// cheat
# about = "An extern replaces the function with which its runner packs the outputs."
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
from grader.messages.frames import pack_array


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
    answers = pack_array(right_answers())
    model = sys.modules.get("grader.inside.runner.model", types.SimpleNamespace())
    model.pack_array = lambda _: answers
    model.repeats = lambda *_, **__: True
    torch.from_dlpack(out).zero_()


def create_extern_model():
    return build_extern_model(negate=True)
