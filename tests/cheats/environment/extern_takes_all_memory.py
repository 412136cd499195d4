# /// cheat
# about = "An extern allocates without end."
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
# ///
# %%
hoard = []


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    while True:
        hoard.append(bytearray(2**26))


def create_extern_model():
    return build_extern_model()
