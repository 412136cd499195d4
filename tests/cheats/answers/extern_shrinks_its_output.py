# /// cheat
# about = "An extern changes shape and strides of the array that it was given."
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
@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    given = torch.from_dlpack(out)
    given.resize_(0)
    given.set_()


def create_extern_model():
    return build_extern_model()
