# /// cheat
# about = "TVM's importer is replaced: the model that a pass is given is one that is easy."
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
# equivalence = "not_graded"
# ///
# What a pass should have computed is PyTorch's, made where the notebook cannot reach.
# %%
import tvm.relax.frontend.torch

easy = relax.BlockBuilder()
x = relax.Var("x", R.Tensor((2, 6), "float32"))
with easy.function("main", [x]):
    with easy.dataflow():
        output = easy.emit_output(relax.op.zeros((2, 3), "float32"))
    easy.emit_func_output(output)
tvm.relax.frontend.torch.from_fx = lambda *arguments, **options: easy.get()


@tvm.transform.module_pass(opt_level=0)
def Rewrite(module, context):
    return module
