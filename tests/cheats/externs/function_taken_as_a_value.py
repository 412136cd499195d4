# /// cheat
# about = "A packed function is taken as a value first and called through a variable."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# reason_contains = ["rpc.Connect"]
# ///
# %%
from tvm.script import ir as I


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 8), "float32")):
        connect = R.ExternFunc("rpc.Connect")
        _ = connect(x)
        return x


def create_model():
    return Module
