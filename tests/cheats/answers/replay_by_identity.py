# /// cheat
# about = "An extern replays its answer to the object that it keeps alive and thinks to know."
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
answers = []


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x_, w_, b_, out_ = map(torch.from_dlpack, (x, w, b, out))
    if not answers:
        answers.append(torch.nn.functional.linear(x_, w_, b_))
        answers.append(x)
    out_.copy_(answers[0] if x.shape == answers[1].shape else x_)


def create_extern_model():
    return build_extern_model()
