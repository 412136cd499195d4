# /// cheat
# about = "An extern leaves its output to a thread that has not begun when it returns."
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
import threading
import time


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    def later():
        time.sleep(30)
        out.copy_(torch.nn.functional.linear(x, w, b))

    threading.Thread(target=later, daemon=True).start()


def create_extern_model():
    return build_extern_model()
