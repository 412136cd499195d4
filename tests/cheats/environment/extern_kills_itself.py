# /// cheat
# about = "An extern kills its own process."
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
import signal


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    os.kill(os.getpid(), signal.SIGKILL)


def create_extern_model():
    return build_extern_model()
