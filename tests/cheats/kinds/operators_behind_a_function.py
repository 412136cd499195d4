# /// cheat
# about = "The operators that are not allowed stand in a Relax function that `main` calls."
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 6
# problems = []
#
# [expect.part.graph]
# score = 6
# check.graph = "failed"
# check.equivalence = "passed"
#
# [expect.part.imported]
# score = 0
# ///
# %%
@I.ir_module
class Graph:
    @T.prim_func(s_tir=True)
    def copy(W: T.Buffer((16, 8), "float32"), Y: T.Buffer((16, 8), "float32")):
        for i, j in T.grid(16, 8):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = W[vi, vj]

    @R.function(private=True)
    def layer(x: R.Tensor((4, 8), "float32"), w: R.Tensor((16, 8), "float32")) -> R.Tensor(
        (4, 16), "float32"
    ):
        with R.dataflow():
            out = R.nn.relu(R.matmul(x, R.permute_dims(w)))
            R.output(out)
        return out

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((16, 8), "float32")) -> R.Tensor(
        (4, 16), "float32"
    ):
        cls = Graph
        with R.dataflow():
            copied = R.call_tir(cls.copy, (w,), R.Tensor((16, 8), "float32"))
            out = cls.layer(x, copied)
            R.output(out)
        return out


# %%
def import_model(model, shapes):
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    builder = relax.BlockBuilder()
    inner, x = (relax.Var(name, R.Tensor(shapes[0], "float32")) for name in ("inner", "x"))
    with builder.function("layers", [inner], attrs={"relax.force_pure": False}):
        with builder.dataflow():
            value = inner
            for node in model.graph.nodes:
                if node.op == "call_module" and f"{node.target}.weight" in weights:
                    weight = relax.op.permute_dims(relax.const(weights[f"{node.target}.weight"]))
                    value = relax.op.add(
                        relax.op.matmul(value, weight), relax.const(weights[f"{node.target}.bias"])
                    )
                elif node.op == "call_module":
                    value = relax.op.nn.relu(value)
                value = builder.emit(value)
            value = builder.emit_output(value)
        layers = builder.emit_func_output(value)
    with builder.function("main", [x]):
        with builder.dataflow():
            copied = builder.emit_te(topi.identity, builder.emit_te(topi.identity, x))
            output = builder.emit_output(relax.Call(layers, [copied]))
        builder.emit_func_output(output)
    return builder.get()
