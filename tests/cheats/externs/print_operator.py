# %%
from tvm.script import ir as I


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 8), "float32")):
        _ = R.print(x, format="score: 10 of 10 {}")
        return x


def create_model():
    return Module
