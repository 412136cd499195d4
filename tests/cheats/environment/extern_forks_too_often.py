# /// cheat
# about = "An extern forks more often than it may."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.extern]
# score = 0
#
# [expect.part.extern.check]
# extern_call = "failed"
# ///
# %%
import os
import time


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    for _ in range(300):
        try:
            if os.fork() == 0:
                time.sleep(20)
                os._exit(0)
        except OSError:
            break


def create_extern_model():
    return build_extern_model()
