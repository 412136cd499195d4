# /// cheat
# about = "An extern raises SystemExit, which ends a process that does not expect it."
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
    raise SystemExit(0)


def create_extern_model():
    return build_extern_model(negate=True)
