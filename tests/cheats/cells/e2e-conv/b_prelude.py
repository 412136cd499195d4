import pickle

import numpy as np
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R
from tvm.script import tirx as T

with open("fasionmnist_mlp_assignment_params.pkl", "rb") as file:
    parameters = pickle.load(file)


class Escaped(Exception):
    """Raised by a cheat that reached what it must not."""


def constant(name, shape=None):
    value = parameters[name]
    return relax.const(value if shape is None else value.reshape(shape), "float32")


def finish(builder, h):
    """Emit everything that follows the convolution and its bias."""
    h = builder.emit_te(topi.nn.relu, h)
    h = builder.emit_te(topi.nn.pool2d, h, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    h = builder.emit_te(topi.nn.flatten, h)
    h = builder.emit_te(topi.nn.dense, h, constant("linear0_weight"), constant("linear0_bias"))
    h = builder.emit_te(topi.nn.relu, h)
    h = builder.emit_te(topi.nn.dense, h, constant("linear1_weight"), constant("linear1_bias"))
    return builder.emit_te(topi.nn.softmax, h, 1)
