# /// cheat
# about = "An extern sleeps for ever."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 2
# problems = []
#
# [expect.part.extern]
# score = 2
# reason_contains = ["time limit"]
#
# [expect.part.extern.check]
# extern_call = "passed"
# ///
# %%
import time


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    while True:
        time.sleep(1)


def create_extern_model():
    return build_extern_model()
