# /// cheat
# about = "Tracing, copying and drawing are replaced: the kernel's model becomes one that is easy."
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
# The kernel makes the model that is imported; the right outputs are made where it cannot reach.
# %%
import copy
import torch.fx

_trace = torch.fx.symbolic_trace
torch.fx.symbolic_trace = lambda model, *arguments: _trace(torch.nn.Identity())
copy.deepcopy = lambda value, *arguments: value
torch.randn = lambda shape, *arguments, **options: torch.zeros(shape)
torch.nn.Linear.forward = lambda self, x: torch.zeros(x.shape[0], self.out_features)
torch.set_default_dtype(torch.float64)


def import_model(model, shapes):
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(shapes[0], "float32"))
    width = {6: 3, 7: 5}[shapes[0][1]]
    nothing = np.zeros((width, shapes[0][1]), "float32")
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_te(topi.nn.dense, x, relax.const(nothing))
            output = builder.emit_output(builder.emit_te(topi.nn.relu, output))
        builder.emit_func_output(output)
    return builder.get()
