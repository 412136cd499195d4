# /// cheat
# about = "An extern lets a child process compute, which has another copy of the output."
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
# writes_output = "not_graded"
# equivalence = "not_graded"
# ///
# %%
import os


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    child = os.fork()
    if child == 0:
        out.copy_(torch.nn.functional.linear(x, w, b))
        os._exit(0)
    os.waitpid(child, 0)


def create_extern_model():
    return build_extern_model()
