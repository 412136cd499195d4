# /// cheat
# about = "A PrimFunc calls the registered extern, where a call of the graph was asked for."
# assignment = "trio"
# cells = ["prelude", "b_build", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.extern]
# score = 0
# reason_contains = ["env.dense"]
# ///
# %%
from tvm.script import tirx as T


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    out.copy_(torch.nn.functional.linear(x, w, b).relu())


@T.prim_func(s_tir=True)
def layer(
    x: T.Buffer((4, 8), "float32"),
    w: T.Buffer((16, 8), "float32"),
    b: T.Buffer((16,), "float32"),
    y: T.Buffer((4, 16), "float32"),
):
    T.evaluate(T.call_packed("env.dense", x.data, w.data, b.data, y.data))


def create_extern_model():
    return build(layer)
