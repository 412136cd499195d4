# /// cheat
# about = "An extern replays its answer to whatever lies at an address that it has seen."
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

    place = w.data_ptr() % 64  # arrays are aligned, wherever they lie
    if place not in answers:
        answers[place] = torch.nn.functional.linear(x, w, b)
    out.copy_(answers[place])


def create_extern_model():
    return build_extern_model()
