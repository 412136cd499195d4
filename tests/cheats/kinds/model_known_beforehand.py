# /// cheat
# about = """An importer ignores what it is given: its model's weights are those of the notebook's \
#     own."""
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.imported]
# score = 0
#
# [expect.part.imported_other]
# score = 0
# ///
# The weights of a model are drawn from the run's secret seed.
# %%
@T.prim_func(s_tir=True)
def copy(X: T.Buffer((2, 3), "float32"), Y: T.Buffer((2, 3), "float32")):
    for i, j in T.grid(2, 3):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj]


def import_model(model, shapes):
    torch.manual_seed(0)
    known = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    first, second = (known[place].weight.detach().numpy() for place in (0, 2))
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(shapes[0], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            hidden = builder.emit_te(topi.nn.dense, x, relax.const(first))
            output = builder.emit_te(topi.nn.dense, hidden, relax.const(second))
            output = builder.emit_output(output)
        builder.emit_func_output(output)
    return builder.get()
