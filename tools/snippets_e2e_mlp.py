"""Cells that the example submissions of e2e-mlp share, as text of Python.

`module` writes a class from its TensorIR functions and the lines of its `main`: an example says
only in which of them it differs.
"""

from __future__ import annotations

from textwrap import indent

SETUP = """\
import pickle

import numpy as np
import torch
import tvm
from tvm import relax, topi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

with open("fasionmnist_mlp_params.pkl", "rb") as file:
    parameters = pickle.load(file)
"""

# --- loops in NumPy -------------------------------------------------------------------------------

LNUMPY_LINEAR = """\
def lnumpy_linear(X, W, B, Z):
    Y = np.empty((1, len(B)), dtype="float32")
    for i in range(1):
        for j in range(len(B)):
            for k in range(X.shape[1]):
                if k == 0:
                    Y[i, j] = 0
                Y[i, j] += X[i, k] * W[j, k]
            Z[i, j] = Y[i, j] + B[j]
"""

LNUMPY_RELU = """\
def lnumpy_relu(X, Y):
    for i, j in np.ndindex(X.shape):
        Y[i, j] = np.maximum(X[i, j], 0)
"""

LNUMPY_MLP = """\
def lnumpy_mlp(data, w0, b0, w1, b1):
    lv0 = np.empty((1, 128), dtype="float32")
    lnumpy_linear(data, w0, b0, lv0)
    lv1 = np.empty((1, 128), dtype="float32")
    lnumpy_relu(lv0, lv1)
    out = np.empty((1, 10), dtype="float32")
    lnumpy_linear(lv1, w1, b1, out)
    return out
"""


def low_level(linear: str = LNUMPY_LINEAR, relu: str = LNUMPY_RELU, mlp: str = LNUMPY_MLP) -> str:
    """Return a cell with the network in loops."""
    return "\n\n".join((linear, relu, mlp))


# --- TensorIR -------------------------------------------------------------------------------------

LINEAR0 = """\
@T.prim_func(s_tir=True)
def linear0(
    X: T.Buffer((1, 784), "float32"),
    W: T.Buffer((128, 784), "float32"),
    B: T.Buffer((128,), "float32"),
    Z: T.Buffer((1, 128), "float32"),
):
    Y = T.sblock_alloc_buffer((1, 128), "float32")
    for i, j, k in T.grid(1, 128, 784):
        with T.sblock("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
    for i, j in T.grid(1, 128):
        with T.sblock("Z"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = Y[vi, vj] + B[vj]
"""

LINEAR1 = (
    LINEAR0.replace("linear0", "linear1")
    .replace("(1, 128)", "(1, 10)")
    .replace("(128, 784)", "(10, 128)")
    .replace("(1, 784)", "(1, 128)")
    .replace("(128,)", "(10,)")
    .replace("T.grid(1, 128, 784)", "T.grid(1, 10, 128)")
    .replace("T.grid(1, 128)", "T.grid(1, 10)")
)

RELU0 = """\
@T.prim_func(s_tir=True)
def relu0(X: T.Buffer((1, 128), "float32"), Y: T.Buffer((1, 128), "float32")):
    for i, j in T.grid(1, 128):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.max(X[vi, vj], T.float32(0))
"""

TIR = (LINEAR0, RELU0, LINEAR1)

# --- main -----------------------------------------------------------------------------------------

ARGUMENTS = (
    'x: R.Tensor((1, 784), "float32")',
    'w0: R.Tensor((128, 784), "float32")',
    'b0: R.Tensor((128,), "float32")',
    'w1: R.Tensor((10, 128), "float32")',
    'b1: R.Tensor((10,), "float32")',
)

CALL_LINEAR0 = 'lv0 = R.call_tir(cls.linear0, (x, w0, b0), R.Tensor((1, 128), "float32"))'
CALL_RELU0 = 'lv1 = R.call_tir(cls.relu0, (lv0,), R.Tensor((1, 128), "float32"))'
CALL_LINEAR1 = 'out = R.call_tir(cls.linear1, (lv1, w1, b1), R.Tensor((1, 10), "float32"))'
CALLS = (CALL_LINEAR0, CALL_RELU0, CALL_LINEAR1)

EXTERN_LINEAR0 = 'lv0 = R.call_dps_packed("env.linear", (x, w0, b0), R.Tensor((1, 128), "float32"))'
EXTERN_RELU = 'lv1 = R.call_dps_packed("env.relu", (lv0,), R.Tensor((1, 128), "float32"))'
EXTERN_LINEAR1 = (
    'out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, 10), "float32"))'
)
EXTERNS = (EXTERN_LINEAR0, EXTERN_RELU, EXTERN_LINEAR1)


def module(
    name: str,
    functions: tuple[str, ...],
    lines: tuple[str, ...],
    arguments: tuple[str, ...] = ARGUMENTS,
    *,
    dataflow: bool = True,
) -> str:
    """Return a cell that defines a module; the last of its lines makes `out`."""
    taken = indent(",\n".join(arguments), "    ")
    body = "\n".join(lines)
    if dataflow:
        body = "with R.dataflow():\n" + indent(f"{body}\nR.output(out)", "    ")
    main = f"@R.function\ndef main(\n{taken},\n):\n" + indent(
        f"cls = {name}\n{body}\nreturn out\n", "    "
    )
    members = "\n".join((*functions, main))
    return f"@I.ir_module\nclass {name}:\n{indent(members, '    ')}"


MY_MODULE = module("MyModule", TIR, CALLS)
WITH_EXTERN_CALL = module("MyModuleWithExternCall", (), EXTERNS)
MIXTURE = module("MyModuleMixture", (LINEAR0,), (CALL_LINEAR0, EXTERN_RELU, EXTERN_LINEAR1))

# --- externs and parameters -----------------------------------------------------------------------

REGISTER_LINEAR = """\
@tvm.register_global_func("env.linear", override=True)
def torch_linear(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    torch.mm(x, w.T, out=out)
    torch.add(out, b, out=out)
"""

REGISTER_RELU = """\
@tvm.register_global_func("env.relu", override=True)
def torch_relu(x, out):
    torch.maximum(torch.from_dlpack(x), torch.Tensor([0.0]), out=torch.from_dlpack(out))
"""

REGISTER = f"{REGISTER_LINEAR}\n\n{REGISTER_RELU}"

BIND = 'MyModuleWithParams = relax.transform.BindParams("main", parameters)(MyModuleMixture)\n'

RUN = """\
machine = relax.VirtualMachine(relax.build({name}, "llvm"), tvm.cpu())
image = tvm.runtime.tensor(np.zeros((1, 784), "float32"))
weights = [tvm.runtime.tensor(parameters[name]) for name in ("w0", "b0", "w1", "b1")]
print(machine["main"](image, *weights))
"""


def run(name: str) -> str:
    """Return a cell that runs a module, as students do."""
    return RUN.replace("{name}", name)
