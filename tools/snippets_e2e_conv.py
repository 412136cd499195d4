"""Cells that the example submissions of e2e-conv share, as text of Python.

`emit_te` and `torch_func` write a submission's two entry points line by line: an example says only
the line in which it differs.
"""

from __future__ import annotations

from textwrap import indent

SETUP = """\
import pickle

import numpy as np
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R
from tvm.script import tirx as T

with open("fasionmnist_mlp_assignment_params.pkl", "rb") as file:
    weight_map = pickle.load(file)

batch_size = 4
input_shape = (batch_size, 1, 28, 28)


def const(name, shape=None):
    array = weight_map[name]
    return relax.const(array if shape is None else array.reshape(shape), "float32")
"""

CONV = 'h = bb.emit_te(topi.nn.conv2d, x, const("conv2d_weight"), 1, 0, 1)'
BIAS = 'h = bb.emit_te(topi.add, h, const("conv2d_bias", (1, 32, 1, 1)))'
RELU = "h = bb.emit_te(topi.nn.relu, h)"
POOL = 'h = bb.emit_te(topi.nn.pool2d, h, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")'
FLATTEN = "h = bb.emit_te(topi.nn.flatten, h)"
LINEAR0 = 'h = bb.emit_te(topi.nn.dense, h, const("linear0_weight"), const("linear0_bias"))'
LINEAR1 = 'h = bb.emit_te(topi.nn.dense, h, const("linear1_weight"), const("linear1_bias"))'
SOFTMAX = "h = bb.emit_te(topi.nn.softmax, h, 1)"

EXTERN_CONV = """\
h = bb.emit(
    relax.op.call_dps_packed(
        "env.conv2d",
        relax.Tuple([x, const("conv2d_weight"), const("conv2d_bias")]),
        R.Tensor((batch_size, 32, 26, 26), "float32"),
    )
)"""

EXTERN_CONV_WITHOUT_BIAS = """\
h = bb.emit(
    relax.op.call_dps_packed(
        "env.conv2d",
        relax.Tuple([x, const("conv2d_weight")]),
        R.Tensor((batch_size, 32, 26, 26), "float32"),
    )
)"""

REGISTER_CONV = """\
@tvm.register_global_func("env.conv2d", override=True)
def torch_conv2d(x, w, b, out):
    x, w, b, out = map(torch.from_dlpack, (x, w, b, out))
    out.copy_(torch.conv2d(x, w, b))
"""

REGISTER_CONV_WITHOUT_BIAS = """\
@tvm.register_global_func("env.conv2d", override=True)
def torch_conv2d(x, w, out):
    x, w, out = map(torch.from_dlpack, (x, w, out))
    out.copy_(torch.conv2d(x, w))
"""


def entry_point(name: str, *lines: str, parameters: str = "", batch: str = "batch_size") -> str:
    """Return a function that builds a module: `lines` compute the network's output `h` from `x`."""
    body = "\n".join(line for line in lines if line)
    return f"""\
def {name}({parameters}):
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(({batch}, 1, 28, 28), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
{indent(body, " " * 12)}
            gv = bb.emit_output(h)
        bb.emit_func_output(gv)
    return bb.get()
"""


def emit_te(
    *,
    conv: str = CONV,
    bias: str = BIAS,
    pool: str = POOL,
    linear0: str = LINEAR0,
    softmax: str = SOFTMAX,
    name: str = "create_model_via_emit_te",
    parameters: str = "",
) -> str:
    """Return the entry point of part 1, right but for the lines given."""
    layers = (conv, bias, RELU, pool, FLATTEN, linear0, RELU, LINEAR1, softmax)
    return entry_point(name, *layers, parameters=parameters)


def torch_func(
    *, conv: str = EXTERN_CONV, bias: str = "", name: str = "create_model_with_torch_func"
) -> str:
    """Return the entry point of part 2, right but for the lines given."""
    return entry_point(name, conv, bias, RELU, POOL, FLATTEN, LINEAR0, RELU, LINEAR1, SOFTMAX)


USE_EMIT_TE = """\
mod = create_model_via_emit_te()
mod["main"].show()
"""

USE_TORCH_FUNC = """\
mod = create_model_with_torch_func()
mod["main"].show()
"""

RUN = """\
machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
machine["main"](tvm.runtime.tensor(np.random.rand(*input_shape).astype("float32")))
"""

TE_CONV = """\
def my_conv2d(x, w):
    n, _, height, width = x.shape
    c = te.reduce_axis((0, w.shape[1]), name="c")
    i = te.reduce_axis((0, w.shape[2]), name="i")
    j = te.reduce_axis((0, w.shape[3]), name="j")
    return te.compute(
        (n, w.shape[0], height - 2, width - 2),
        lambda b, f, y, z: te.sum(x[b, c, y + i, z + j] * w[f, c, i, j], axis=[c, i, j]),
        name="Y",
    )
"""

TE_CONV_WITH_BIAS = """\
def my_conv2d(x, w, b):
    n, _, height, width = x.shape
    c = te.reduce_axis((0, w.shape[1]), name="c")
    i = te.reduce_axis((0, w.shape[2]), name="i")
    j = te.reduce_axis((0, w.shape[3]), name="j")
    shape = (n, w.shape[0], height - 2, width - 2)
    products = te.compute(
        shape,
        lambda k, f, y, z: te.sum(x[k, c, y + i, z + j] * w[f, c, i, j], axis=[c, i, j]),
        name="products",
    )
    return te.compute(shape, lambda k, f, y, z: products[k, f, y, z] + b[f], name="biased")
"""

EMIT_TE_CONV = 'h = bb.emit_te(my_conv2d, x, const("conv2d_weight"))'
EMIT_TE_CONV_WITH_BIAS = (
    'h = bb.emit_te(my_conv2d, x, const("conv2d_weight"), const("conv2d_bias"))'
)

SCHEDULE = """\
mod = create_model_via_emit_te()
sch = tvm.s_tir.Schedule(mod)
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
n, ff, yy, xx, rc, ry, rx = sch.get_loops(block)
ff0, ff1 = sch.split(ff, factors=[None, 4])
sch.reorder(n, ff0, yy, xx, rc, ry, rx, ff1)
sch.parallel(n)
# three vectors of 8 columns, and the last two
for columns in sch.loop_partition(xx, factors=[8, 8, 8, None]):
    (block,) = sch.get_child_blocks(columns)
    xx, rc, ry, rx, ff1 = sch.get_loops(block)[-5:]
    sch.reorder(rc, ry, rx, ff1, xx)
    sch.vectorize(xx)
    for loop in (ry, rx, ff1):
        sch.unroll(loop)
    sch.decompose_reduction(block, rc)
"""
