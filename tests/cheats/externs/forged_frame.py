# /// cheat
# about = "An extern writes an answer of its own to every socket of its process."
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
# ///
# %%
import os
import socket
import sys

import numpy
from grader.messages.frames import encode_frame, pack_array
from grader.messages.runner import RunResult


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
    answer = encode_frame(RunResult(pack_array(right_answers())))
    for descriptor in range(3, 64):
        try:
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                connection.sendall(answer)
        except OSError:
            pass
    os._exit(0)


def create_extern_model():
    return build_extern_model(negate=True)
