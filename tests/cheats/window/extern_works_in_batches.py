# /// cheat
# about = "An extern collects fifteen calls and computes them at once in the last."
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
# equivalence = "not_graded"
# ///
# %%
waiting = []


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    waiting.append((x, w, b, out))
    if len(waiting) == 15:
        for x, w, b, out in waiting:
            out.copy_(torch.nn.functional.linear(x, w, b))
        waiting.clear()


def create_extern_model():
    return build_extern_model()
