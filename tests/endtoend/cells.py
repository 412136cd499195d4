"""Cells of small notebooks for e2e-conv: right ones, to be mixed with broken ones."""

PRELUDE = """
import pickle
import numpy as np
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R

weights = pickle.load(open("fasionmnist_mlp_assignment_params.pkl", "rb"))

def constant(name, shape=None):
    value = weights[name]
    return relax.const(value if shape is None else value.reshape(shape), "float32")

def tail(bb, lv):
    lv = bb.emit_te(topi.nn.relu, lv)
    lv = bb.emit_te(topi.nn.pool2d, lv, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    lv = bb.emit_te(topi.nn.flatten, lv)
    lv = bb.emit_te(topi.nn.dense, lv, constant("linear0_weight"))
    lv = bb.emit_te(topi.add, lv, constant("linear0_bias", (1, 100)))
    lv = bb.emit_te(topi.nn.relu, lv)
    lv = bb.emit_te(topi.nn.dense, lv, constant("linear1_weight"))
    lv = bb.emit_te(topi.add, lv, constant("linear1_bias", (1, 10)))
    return bb.emit_te(topi.nn.softmax, lv)
"""

EMIT_TE = """
def create_model_via_emit_te():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit_te(topi.nn.conv2d, x, constant("conv2d_weight"), 1, 0, 1)
            lv = bb.emit_te(topi.add, lv, constant("conv2d_bias", (1, 32, 1, 1)))
            gv = bb.emit_output(tail(bb, lv))
        bb.emit_func_output(gv)
    return bb.get()
"""

EXTERN = """
import torch

@tvm.register_global_func("env.conv2d", override=True)
def torch_conv2d(x, w, b, out):
    result = torch.conv2d(torch.from_dlpack(x), torch.from_dlpack(w), torch.from_dlpack(b))
    torch.from_dlpack(out).copy_(result)

def create_model_with_torch_func():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 1, 28, 28), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(relax.op.call_dps_packed(
                "env.conv2d",
                relax.Tuple([x, constant("conv2d_weight"), constant("conv2d_bias")]),
                R.Tensor((4, 32, 26, 26), "float32"),
            ))
            gv = bb.emit_output(tail(bb, lv))
        bb.emit_func_output(gv)
    return bb.get()
"""
