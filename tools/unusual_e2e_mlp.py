"""Example submissions of e2e-mlp that are right in an unusual way, or right amid leftovers."""

from __future__ import annotations

from snippets_e2e_mlp import (
    ARGUMENTS,
    BIND,
    CALL_LINEAR0,
    CALL_LINEAR1,
    CALLS,
    EXTERN_LINEAR0,
    EXTERN_LINEAR1,
    EXTERN_RELU,
    EXTERNS,
    LINEAR0,
    LINEAR1,
    MIXTURE,
    MY_MODULE,
    REGISTER,
    SETUP,
    TIR,
    low_level,
    module,
    run,
)

OTHER_ORDER = (ARGUMENTS[0], ARGUMENTS[3], ARGUMENTS[4], ARGUMENTS[1], ARGUMENTS[2])
PARAMETERS_IN_ANOTHER_ORDER = (
    SETUP,
    module("MyModule", TIR, CALLS, OTHER_ORDER),
    REGISTER,
    module("MyModuleWithExternCall", (), EXTERNS, OTHER_ORDER),
)


def batched(text: str) -> str:
    """Return TensorIR, `main` or loops for four images at a time."""
    return (
        text.replace("(1, 784)", "(4, 784)")
        .replace("(1, 128)", "(4, 128)")
        .replace("(1, 10)", "(4, 10)")
        .replace("T.grid(1, ", "T.grid(4, ")
    )


BATCH_OF_FOUR = (
    SETUP,
    batched(MY_MODULE),
    REGISTER,
    batched(MIXTURE),
    BIND,
)

OTHER_NAMES = (
    SETUP,
    low_level()
    .replace("lnumpy_linear", "fully_connected")
    .replace("lnumpy_relu", "activation")
    .replace("data", "img")
    .replace("lv0", "h0"),
    MY_MODULE.replace("linear0", "fc1").replace("relu0", "activation").replace("lv0", "h"),
    REGISTER.replace("env.linear", "mylib.dense").replace("env.relu", "mylib.rectify"),
    module("MyModuleWithExternCall", (), EXTERNS)
    .replace("env.linear", "mylib.dense")
    .replace("env.relu", "mylib.rectify"),
)

COMPREHENSIONS = (
    SETUP,
    """\
def dot_product(row, column):
    total = 0.0
    for first, second in zip(row, column):
        total += first * second
    return total


def lnumpy_mlp(data, w0, b0, w1, b1):
    hidden = np.empty(128, dtype="float32")
    for j in range(128):
        hidden[j] = max(0.0, dot_product(data[0], w0[j]) + b0[j])
    out = np.zeros((1, 10), dtype="float32")
    for j in range(10):
        out[0, j] = sum(hidden[k] * w1[j, k] for k in range(128)) + b1[j]
    return out
""",
)

# ReLU in the first layer's last block, and a bias of its own.
RELU_FUSED = LINEAR0.replace("linear0", "linear0_relu0").replace(
    "Y[vi, vj] + B[vj]", "T.max(Y[vi, vj] + B[vj], T.float32(0))"
)
TWO_FUNCTIONS = (
    SETUP,
    module(
        "MyModule",
        (RELU_FUSED, LINEAR1),
        (
            CALL_LINEAR0.replace("linear0", "linear0_relu0").replace("lv0", "lv1"),
            CALL_LINEAR1,
        ),
    ),
    run("MyModule"),
)

EMIT_TE = (
    SETUP,
    """\
def build():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 784), "float32"))
    rest = [relax.Var(k, R.Tensor(v.shape, "float32")) for k, v in parameters.items()]
    w0, b0, w1, b1 = rest
    with bb.function("main", [x, *rest]):
        with bb.dataflow():
            h = bb.emit_te(topi.nn.dense, x, w0, b0)
            h = bb.emit_te(topi.nn.relu, h)
            out = bb.emit_output(bb.emit_te(topi.nn.dense, h, w1, b1))
        bb.emit_func_output(out)
    return bb.get()


MyModule = build()
MyModule.show()
""",
)

EXTERNS_IN_NUMPY = (
    SETUP,
    """\
@tvm.register_global_func("env.linear", override=True)
def linear(x, w, b, out):
    out.copyfrom(x.numpy() @ w.numpy().T + b.numpy())


@tvm.register_global_func("env.relu", override=True)
def relu(x, out):
    np.from_dlpack(out)[:] = np.maximum(np.from_dlpack(x), 0)


@tvm.register_global_func("env.linear_relu", override=True)
def linear_relu(x, w, b, out):
    linear(x, w, b, out)
    relu(out, out)
""",
    module(
        "MyModuleWithExternCall",
        (),
        (
            EXTERN_LINEAR0.replace("env.linear", "env.linear_relu").replace("lv0", "lv1"),
            EXTERN_LINEAR1,
        ),
    ),
    MIXTURE,
    BIND,
)

CONSTANTS_BY_HAND = (
    SETUP,
    REGISTER,
    """\
bb = relax.BlockBuilder()
x = relax.Var("x", R.Tensor((1, 784), "float32"))
w0, b0, w1, b1 = (relax.const(parameters[name]) for name in ("w0", "b0", "w1", "b1"))
with bb.function("main", [x]):
    with bb.dataflow():
        h = bb.emit_te(topi.nn.dense, x, w0, b0)
        hidden, scores = R.Tensor((1, 128), "float32"), R.Tensor((1, 10), "float32")
        h = bb.emit(relax.op.call_dps_packed("env.relu", (h,), hidden))
        h = bb.emit(relax.op.call_dps_packed("env.linear", (h, w1, b1), scores))
        out = bb.emit_output(h)
    bb.emit_func_output(out)
MyModuleWithParams = bb.get()
""",
)

DRAFTS_FIRST = (
    SETUP,
    "class MyModule:\n    pass\n",
    "@I.ir_module\nclass MyModule:\n    @R.function\n    def main(x: R.Tensor((1, 784))):\n"
    "        return R.call_tir(linear0, x)\n",
    low_level(linear="def lnumpy_linear(X, W, B, Z):\n    raise NotImplementedError\n"),
    low_level(),
    MY_MODULE,
    run("MyModule"),
    REGISTER,
    module("MyModuleMixture", (LINEAR0,), (CALL_LINEAR0, EXTERN_RELU, EXTERN_LINEAR1)),
    BIND,
    "MyModule = None\n",
)

# --- destination-passing style of 2023, with symbolic shapes --------------------------------------

OLDER_SETUP = """\
import pickle

import numpy as np
import torch
import tvm
from tvm import relax
from tvm.script import relax as R, tir as T

with open("fasionmnist_mlp_params.pkl", "rb") as file:
    parameters = pickle.load(file)
"""
SYMBOLIC_TIR = """\
    @T.prim_func
    def relu0(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (1, n), "float32")
        Y = T.match_buffer(y, (1, n), "float32")
        for i, j in T.grid(1, n):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @T.prim_func
    def linear0(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        m, n = T.int64(), T.int64()
        X = T.match_buffer(x, (1, m), "float32")
        W = T.match_buffer(w, (n, m), "float32")
        B = T.match_buffer(b, (n,), "float32")
        Z = T.match_buffer(z, (1, n), "float32")
        Y = T.alloc_buffer((1, n), "float32")
        for i, j, k in T.grid(1, n, m):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, n):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]
"""


def symbolic(name: str, functions: str, *callees: str) -> str:
    """Return a cell with a module that calls three functions by their names."""
    first, second, third = callees
    return f"""\
@tvm.script.ir_module
class {name}:
{functions}
    @R.function
    def main(
        x: R.Tensor((1, "m"), "float32"),
        w0: R.Tensor(("n", "m"), "float32"),
        b0: R.Tensor(("n",), "float32"),
        w1: R.Tensor(("k", "n"), "float32"),
        b1: R.Tensor(("k",), "float32"),
    ):
        n, k = T.int64(), T.int64()
        with R.dataflow():
            lv0 = R.call_dps_packed(
                "{first}", (x, w0, b0), out_sinfo=R.Tensor((1, n), "float32")
            )
            lv1 = R.call_dps_packed("{second}", (lv0,), out_sinfo=R.Tensor((1, n), "float32"))
            out = R.call_dps_packed(
                "{third}", (lv1, w1, b1), out_sinfo=R.Tensor((1, k), "float32")
            )
            R.output(out)
        return out
"""


DESTINATION_PASSING = (
    OLDER_SETUP,
    symbolic("MyModule", SYMBOLIC_TIR, "linear0", "relu0", "linear0"),
    REGISTER.replace("tvm.register_global_func", "tvm.register_func"),
    symbolic("MyModuleWithExternCall", "", "env.linear", "env.relu", "env.linear"),
    symbolic("MyModuleMixture", SYMBOLIC_TIR, "linear0", "env.relu", "env.linear"),
    BIND,
)

UNUSUAL = {
    "destination_passing_of_2023": DESTINATION_PASSING,
    "parameters_in_another_order": PARAMETERS_IN_ANOTHER_ORDER,
    "batch_of_four": BATCH_OF_FOUR,
    "other_names": OTHER_NAMES,
    "loops_in_another_style": COMPREHENSIONS,
    "relu_fused_into_linear": TWO_FUNCTIONS,
    "module_from_block_builder": EMIT_TE,
    "externs_in_numpy": EXTERNS_IN_NUMPY,
    "constants_by_hand": CONSTANTS_BY_HAND,
    "failed_drafts_first": DRAFTS_FIRST,
}
