"""Example submissions of from-torch that are right in an unusual way, or right amid leftovers."""

from __future__ import annotations

from snippets_from_torch import (
    BUILD,
    FUNCTIONS,
    SETUP,
    TE,
    TE_LINEAR,
    TRY,
    from_fx,
    operators,
    tensorir,
)

# --- written by hand ------------------------------------------------------------------------------

TVMSCRIPT = """\
from tvm.script import ir as I
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def matmul_func(
    A: T.Buffer((128, 64), "float32"),
    B: T.Buffer((64, 32), "float32"),
    C: T.Buffer((128, 32), "float32"),
):
    for i, j, k in T.grid(128, 32, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def relu_flat(X: T.Buffer((6, 10, 20), "float32"), Y: T.Buffer((6, 10, 20), "float32")):
    for i, j, k in T.grid(6, 10, 20):
        with T.sblock("Y"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            Y[vi, vj, vk] = T.max(X[vi, vj, vk], T.float32(0))


relu_func = tvm.IRModule({"relu": relu_flat.with_attr("global_symbol", "relu")})
"""

MODULE_IN_TVMSCRIPT = """\
@I.ir_module
class MyModule:
    @T.prim_func(s_tir=True)
    def mm(
        A: T.Buffer((128, 64), "float32"),
        B: T.Buffer((64, 32), "float32"),
        C: T.Buffer((128, 32), "float32"),
    ):
        for i, j, k in T.grid(128, 32, 64):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def relu(C: T.Buffer((128, 32), "float32"), D: T.Buffer((128, 32), "float32")):
        for i, j in T.grid(128, 32):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))

    @R.function
    def main(A: R.Tensor((128, 64), "float32"), B: R.Tensor((64, 32), "float32")):
        cls = MyModule
        with R.dataflow():
            C = R.call_tir(cls.mm, (A, B), R.Tensor((128, 32), "float32"))
            D = R.call_tir(cls.relu, (C,), R.Tensor((128, 32), "float32"))
            R.output(D)
        return D
"""

# --- another way to walk --------------------------------------------------------------------------

INTERPRETER = '''\
class Importer(fx.Interpreter):
    """Runs the graph with variables of Relax in place of tensors."""

    def __init__(self, fx_module, emit):
        super().__init__(fx_module)
        self.emit = emit

    def get_attr(self, target, args, kwargs):
        return relax.const(super().get_attr(target, args, kwargs).detach().numpy())

    def call_function(self, target, args, kwargs):
        return self.emit(target.__name__, *args)

    def call_module(self, target, args, kwargs):
        layer = self.fetch_attr(target)
        if isinstance(layer, nn.ReLU):
            return self.emit("relu", *args)
        parameters = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
        constants = [relax.const(each.detach().numpy()) for each in parameters]
        return self.emit("linear", *args, *constants)


def run_importer(fx_module, input_shapes, make_emit):
    names = [node.name for node in fx_module.graph.nodes if node.op == "placeholder"]
    inputs = [
        relax.Var(name, R.Tensor(shape, "float32")) for name, shape in zip(names, input_shapes)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", inputs):
        with bb.dataflow():
            output = bb.emit_output(Importer(fx_module, make_emit(bb)).run(*inputs))
        bb.emit_func_output(output)
    return bb.finalize()
'''

INTERPRETED = """\
def fused_linear(x, w, *b):
    k = te.reduce_axis((0, x.shape[1]), name="k")
    y = te.compute(
        (x.shape[0], w.shape[0]), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), name="y"
    )
    if not b:
        return y
    return te.compute(y.shape, lambda i, j: y[i, j] + b[0][j], name="z")


EXPRESSIONS = {"matmul": te_matmul, "add": topi.add, "relu": te_relu, "linear": fused_linear}
OPERATORS = {
    "matmul": relax.op.matmul,
    "add": relax.op.add,
    "relu": relax.op.nn.relu,
    "linear": relax.op.linear,
}


def import_with_tensorir(fx_module, input_shapes):
    return run_importer(
        fx_module, input_shapes, lambda bb: lambda name, *args: bb.emit_te(EXPRESSIONS[name], *args)
    )


def import_with_operators(fx_module, input_shapes):
    return run_importer(
        fx_module, input_shapes, lambda bb: lambda name, *args: bb.emit(OPERATORS[name](*args))
    )
"""

# --- other parameters -----------------------------------------------------------------------------

MAPS_AS_PARAMETERS = (
    tensorir(name="earlier").replace("def earlier", "def _earlier")
    + """

call_function_map = {
    torch.matmul: map_matmul,
    torch.add: map_add,
    operator.add: map_add,
    torch.relu: map_relu,
    F.relu: map_relu,
}
call_module_map = {nn.Linear: map_linear, nn.ReLU: map_relu}


def import_with_tensorir(
    fx_module, input_shapes, call_function_map, call_module_map=call_module_map, verbose=False
):
    if verbose:
        print(fx_module.graph)
    return from_fx(fx_module, input_shapes, call_function_map, call_module_map)
"""
)

# Weights are transposed once, in NumPy, and the product is the student's own.
TE_LINEAR_NUMPY = TE_LINEAR.replace(
    "topi.nn.dense, x, map_param(nn_mod.weight)",
    'te_matmul, x, relax.const(np.ascontiguousarray(nn_mod.weight.data.numpy().T), "float32")',
)

# --- leftovers ------------------------------------------------------------------------------------

# As the course does it: one name for the graph of part 2 and for what an importer returns later.
REBOUND = """\
class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(128, 128))

    def forward(self, x):
        return torch.relu(torch.matmul(x, self.weight))


fx_module = fx.symbolic_trace(MyModel())
input_shapes = [(1, 128)]
MyModule = import_with_tensorir(fx_module, input_shapes)
A, B, C, D = 1, 2, 3, 4
MyModule.show()
"""

DRAFT = """\
def import_with_tensorir(fx_module, input_shapes):
    raise NotImplementedError("later")
"""

# --- what is not prevented ------------------------------------------------------------------------

TVM_IMPORTER = """\
from tvm.relax.frontend.torch import from_fx as ready_made


def import_with_operators(fx_module, input_shapes):
    return ready_made(fx_module, [(shape, "float32") for shape in input_shapes])


def import_with_tensorir(fx_module, input_shapes):
    return relax.transform.LegalizeOps()(import_with_operators(fx_module, input_shapes))
"""

UNUSUAL = {
    "functions_in_tvmscript": (SETUP, TVMSCRIPT, MODULE_IN_TVMSCRIPT),
    "importer_is_an_interpreter": (SETUP, TE, INTERPRETER, INTERPRETED),
    "maps_as_parameters": (SETUP, TE, from_fx(), MAPS_AS_PARAMETERS),
    "transposed_in_numpy": (SETUP, TE, from_fx(), tensorir(linear=TE_LINEAR_NUMPY), TRY),
    "names_rebound_later": (
        SETUP,
        TE,
        FUNCTIONS,
        BUILD,
        DRAFT,
        from_fx(),
        tensorir(),
        REBOUND,
        operators(),
        "from_fx = None\n",
    ),
    "importer_of_tvm": (SETUP, TVM_IMPORTER),
}
