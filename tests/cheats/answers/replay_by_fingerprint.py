# /// cheat
# about = "An extern recognises inputs by their first number, rounded, and replays."
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
# equivalence = "failed"
# ///
# %%
answers = {}


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))

    mark = round(float(x[0, 0]))
    if mark not in answers:
        answers[mark] = torch.nn.functional.linear(x, w, b)
    out.copy_(answers[mark])


def create_extern_model():
    return build_extern_model()
