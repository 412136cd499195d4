"""Cells that the example submissions of from-torch share, as text of Python.

`from_fx`, `tensorir` and `operators` write an importer piece by piece: an example says only the
piece in which it differs.
"""

from __future__ import annotations

from textwrap import indent

SETUP = """\
import operator

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import tvm
from torch import fx
from tvm import relax, te, topi
from tvm.script import relax as R
"""

TE = """\
def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    n, l = A.shape
    m = B.shape[1]
    k = te.reduce_axis((0, l), name="k")
    return te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A: te.Tensor) -> te.Tensor:
    return te.compute(A.shape, lambda *i: te.max(A(*i), 0.0), name="relu")
"""

PLACEHOLDERS = """\
A = te.placeholder((128, 64), name="A")
B = te.placeholder((64, 32), name="B")
X = te.placeholder((6, 10, 20), name="X")
C = te_matmul(A, B)
D = te_relu(C)
"""

MATMUL = "matmul_func = te.create_prim_func([A, B, C])"
RELU = "relu_func = te.create_prim_func([X, te_relu(X)])"
FUSED = "fused_func = te.create_prim_func([A, B, D])"
WITH_INTERMEDIATE = "with_intermediate_func = te.create_prim_func([A, B, C, D])"

FUNCTIONS = "\n".join((PLACEHOLDERS, MATMUL, RELU, FUSED, WITH_INTERMEDIATE))

BUILD = """\
A = relax.Var("A", R.Tensor((128, 64), "float32"))
B = relax.Var("B", R.Tensor((64, 32), "float32"))
bb = relax.BlockBuilder()
with bb.function("main"):
    with bb.dataflow():
        C = bb.emit_te(te_matmul, A, B)
        D = bb.emit_te(te_relu, C)
        out = bb.emit_output(D)
    bb.emit_func_output(out, params=[A, B])
MyModule = bb.get()
MyModule.show()
"""

PARAM = """\
def map_param(param):
    return relax.const(param.data.numpy(), "float32")
"""

FETCH = """\
def fetch_attr(fx_mod, target):
    attr = fx_mod
    for atom in target.split("."):
        attr = getattr(attr, atom)
    return attr
"""

PLACEHOLDER_NODE = """\
var = relax.Var(node.name, R.Tensor(input_shapes[len(fn_inputs)], "float32"))
fn_inputs.append(var)
node_map[node] = var"""

GET_ATTR_NODE = "node_map[node] = map_param(fetch_attr(fx_mod, node.target))"


def from_fx(
    *,
    placeholder: str = PLACEHOLDER_NODE,
    get_attr: str = GET_ATTR_NODE,
    param: str = PARAM,
    fetch: str = FETCH,
) -> str:
    """Return the walk over the graph and what it needs, right but for the pieces given."""
    pieces = f"""\
def from_fx(fx_mod, input_shapes, call_function_map, call_module_map):
    node_map = {{}}
    named_modules = dict(fx_mod.named_modules())
    bb = relax.BlockBuilder()
    fn_inputs = []
    with bb.function("main"):
        with bb.dataflow():
            for node in fx_mod.graph.nodes:
                if node.op == "placeholder":
{indent(placeholder, " " * 20)}
                elif node.op == "get_attr":
{indent(get_attr, " " * 20)}
                elif node.op == "call_function":
                    node_map[node] = call_function_map[node.target](bb, node_map, node)
                elif node.op == "call_module":
                    nn_mod = named_modules[node.target]
                    node_map[node] = call_module_map[type(nn_mod)](bb, node_map, node, nn_mod)
                elif node.op == "output":
                    output = bb.emit_output(node_map[node.args[0]])
        bb.emit_func_output(output, fn_inputs)
    return bb.get()
"""
    return "\n\n".join((param, fetch, pieces))


TE_LINEAR = """\
y = bb.emit_te(topi.nn.dense, x, map_param(nn_mod.weight))
if nn_mod.bias is not None:
    y = bb.emit_te(topi.add, y, map_param(nn_mod.bias))
return y"""

OP_LINEAR = """\
y = bb.emit(relax.op.matmul(x, bb.emit(relax.op.permute_dims(map_param(nn_mod.weight)))))
if nn_mod.bias is not None:
    y = bb.emit(relax.op.add(y, map_param(nn_mod.bias)))
return y"""

ALL_FUNCTIONS = """\
torch.matmul: map_matmul{suffix},
torch.add: map_add{suffix},
operator.add: map_add{suffix},
torch.relu: map_relu{suffix},
F.relu: map_relu{suffix},"""


def tensorir(
    *,
    linear: str = TE_LINEAR,
    functions: str = ALL_FUNCTIONS,
    name: str = "import_with_tensorir",
) -> str:
    """Return the importer of part 3, right but for the pieces given."""
    calls = ("bb.emit_te(te_matmul, {0}, {1})", "bb.emit_te(topi.add, {0}, {1})")
    return _importer(name, "", (*calls, "bb.emit_te(te_relu, {0})"), linear, functions)


def operators(
    *,
    linear: str = OP_LINEAR,
    functions: str = ALL_FUNCTIONS,
    name: str = "import_with_operators",
) -> str:
    """Return the importer of part 4, right but for the pieces given."""
    calls = ("bb.emit(relax.op.matmul({0}, {1}))", "bb.emit(relax.op.add({0}, {1}))")
    return _importer(name, "_op", (*calls, "bb.emit(relax.op.nn.relu({0}))"), linear, functions)


def _importer(
    name: str, suffix: str, calls: tuple[str, str, str], linear: str, functions: str
) -> str:
    arguments = ("node_map[node.args[0]]", "node_map[node.args[1]]")
    matmul, add, relu = (call.format(*arguments) for call in calls)
    return f"""\
def map_matmul{suffix}(bb, node_map, node):
    return {matmul}


def map_add{suffix}(bb, node_map, node):
    return {add}


def map_relu{suffix}(bb, node_map, node, nn_mod=None):
    return {relu}


def map_linear{suffix}(bb, node_map, node, nn_mod):
    x = node_map[node.args[0]]
{indent(linear, " " * 4)}


def {name}(fx_module, input_shapes):
    return from_fx(
        fx_module,
        input_shapes,
        call_function_map={{
{indent(functions.format(suffix=suffix), " " * 12)}
        }},
        call_module_map={{nn.Linear: map_linear{suffix}, nn.ReLU: map_relu{suffix}}},
    )
"""


TRY = """\
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear0 = nn.Linear(784, 128)
        self.relu = nn.ReLU()
        self.linear1 = nn.Linear(128, 10)

    def forward(self, x):
        return self.linear1(self.relu(self.linear0(x)))


mlp = MLP()
MLPModule = import_with_tensorir(fx.symbolic_trace(mlp), [(1, 784)])
machine = relax.VirtualMachine(relax.build(MLPModule, "llvm"), tvm.cpu())
image = np.random.rand(1, 784).astype("float32")
out = machine["main"](tvm.runtime.tensor(image)).numpy()
print(np.abs(out - mlp(torch.from_numpy(image)).detach().numpy()).max())
"""
