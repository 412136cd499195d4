# /// cheat
# about = "An extern lifts its limits and then takes what it was not given."
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
import resource


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS, resource.RLIMIT_NPROC):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except (OSError, ValueError):
            pass
    held = torch.ones(2**30)
    torch.from_dlpack(out).copy_(held[:64].reshape(4, 16))


def create_extern_model():
    return build_extern_model()
