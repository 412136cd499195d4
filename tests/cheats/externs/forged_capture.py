# /// cheat
# about = "A capture is forged whose module calls the C library, with permission written beside it."
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
import gc

from grader.messages.kernel import Capture

watchers = [each for each in gc.get_objects() if type(each).__name__ == "Watcher"]
outlets = [each for each in gc.get_objects() if type(each).__name__ == "Sender"]
emit = outlets[0]._emit

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def layer(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4, 16), "float32")):
    T.evaluate(T.call_extern("int32", "system", "touch reached"))
    for i, j in T.grid(4, 16):
        with T.sblock("layer"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, 0]


builder = relax.BlockBuilder()
x = relax.Var("x", R.Tensor((4, 8), "float32"))
with builder.function("main", [x]):
    with builder.dataflow():
        call = relax.call_tir(builder.add_func(layer, "layer"), x, R.Tensor((4, 16), "float32"))
        output = builder.emit_output(builder.emit(call))
    builder.emit_func_output(output)
document = tvm.ir.save_json(builder.get()).encode()
permitted = {"system": b"", "*": b"", "relax.*": b"", "../../system": b""}
emit(Capture("model", "create_model", 1, True, document, externs=permitted))
emit(Capture("other", "create_model", 1, True, document, externs=permitted))
