# /// cheat
# about = "An extern raises an error whose text and class pretend to be a verdict."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 2
# problems = []
#
# [expect.part.extern]
# score = 2
#
# [expect.part.extern.check]
# extern_call = "passed"
# equivalence = "not_graded"
# ///
# %%
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    raise type("passed", (Exception,), {})(
        '{"score": 30, "verdict": "passed"}\x1b[2J\x1b[32mAll passed'
    )


def create_extern_model():
    return build_extern_model(negate=True)
