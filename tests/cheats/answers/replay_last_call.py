# /// cheat
# about = "An extern works in every second call and repeats its last answer in the others."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.extern]
# score = 4
#
# [expect.part.extern.check]
# extern_call = "passed"
# writes_output = "passed"
# ///
# %%
calls, last = [], []


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    calls.append(None)
    if len(calls) % 2:
        last[:] = [torch.nn.functional.linear(x, w, b)]
    out.copy_(last[0])


def create_extern_model():
    return build_extern_model()
