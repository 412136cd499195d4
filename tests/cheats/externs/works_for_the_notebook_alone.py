# /// cheat
# about = """An extern looks who runs it: in the notebook it is right, elsewhere it hands over to \
#     a command."""
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 2
# problems = []
#
# [expect.part.extern]
# score = 2
# ///
# %%
import os

import IPython


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    if IPython.get_ipython() is None:
        os.execv("/bin/sh", ["sh", "-c", "exit 0"])
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    out.copy_(torch.nn.functional.linear(x, w, b))


def create_extern_model():
    return build_extern_model()
