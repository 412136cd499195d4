# /// cheat
# about = "An extern forks more often than it may."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = { max = 2 }
# problems = []
#
# # Where a user's processes are counted, the last fork fails, and the extern ends without an
# # output: the 2 points are for a graph that calls it.
# [expect.part.extern]
# score = { max = 2 }
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
