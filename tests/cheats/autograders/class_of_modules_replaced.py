# %%
class Module:
    """Pretends to be a module."""

    functions = ()
    attrs = None
    global_infos = None


tvm.IRModule = tvm.ir.IRModule = Module


def create_model():
    return Module()
