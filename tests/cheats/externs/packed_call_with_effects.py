# /// cheat
# about = "A function with effects calls a packed function by its name."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["rpc.CreatePipeClient"]
# ///
# %%
from tvm.script import ir as I


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 8), "float32")):
        _ = R.call_packed("rpc.CreatePipeClient", "/bin/sh", ty_args=R.Object)
        return x


def create_model():
    return Module
