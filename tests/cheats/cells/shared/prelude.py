import numpy as np
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R

rows, columns = np.arange(16)[:, None], np.arange(8)
weight = (((rows * 7 + columns * 3) % 11 - 5) / 8).astype("float32")
bias = ((np.arange(16) * 5 % 7 - 3) / 4).astype("float32")


class Escaped(Exception):
    """Raised by a cheat that has reached what it must not reach."""
