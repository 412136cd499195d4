# /// cheat
# about = "A pass ignores the model that it is given: what it returns has weights of its own."
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.rewritten]
# score = 0
#
# [expect.part.rewritten.check]
# fused = "passed"
# left = "passed"
# equivalence = "failed"
# ///
# The structure is all that is asked for; the weights of a model are drawn from a secret seed.
# %%
def layer(name, shapes, relu):
    builder = relax.BlockBuilder()
    parameters = [relax.Var("p", R.Tensor(shape, "float32")) for shape in shapes]
    with builder.function(name, parameters, attrs={"Primitive": True}, private=True):
        with builder.dataflow():
            output = builder.emit(relax.op.matmul(*parameters[:2]))
            output = builder.emit(relax.op.add(output, parameters[2]))
            output = builder.emit_output(relax.op.nn.relu(output) if relu else output)
        builder.emit_func_output(output)
    return builder.get()[name]


@tvm.transform.module_pass(opt_level=0)
def Rewrite(module, context):
    torch.manual_seed(0)
    known = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 6), "float32"))
    first = builder.add_func(layer("first", [(2, 6), (6, 8), (8,)], True), "first")
    second = builder.add_func(layer("second", [(2, 8), (8, 3), (3,)], False), "second")
    weights = [relax.const(each.detach().numpy().T.copy()) for each in known.parameters()]
    with builder.function("main", [x]):
        with builder.dataflow():
            hidden = builder.emit(relax.Call(first, [x, *weights[:2]]))
            output = builder.emit_output(relax.Call(second, [hidden, *weights[2:]]))
        builder.emit_func_output(output)
    return builder.get()
