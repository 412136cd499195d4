import numpy as np
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


class Escaped(Exception):
    """Raised by a cheat that has reached what it must not reach."""
