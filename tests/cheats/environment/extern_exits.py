# /// cheat
# about = "An extern ends the process that runs it, as if all had gone well."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 2
# problems = []
#
# [expect.part.extern]
# score = 2
# reason_contains = ["ended the process"]
#
# [expect.part.extern.check]
# extern_call = "passed"
# ///
# %%
import os


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    os._exit(0)


def create_extern_model():
    return build_extern_model()
