# /// cheat
# about = "The class of modules is replaced by one whose instances are all right."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# ///
# %%
class Module:
    """Pretends to be a module."""

    functions = ()
    attrs = None
    global_infos = None


tvm.IRModule = tvm.ir.IRModule = Module


def create_model():
    return Module()
