# /// cheat
# about = "An extern computes once and replays its answer to every input of that shape."
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

    shape = tuple(x.shape)
    if shape not in answers:
        answers[shape] = torch.nn.functional.linear(x, w, b)
    out.copy_(answers[shape])


def create_extern_model():
    return build_extern_model()
