"""Cells that are right, to stand before, between and after the broken ones."""

from __future__ import annotations

PRELUDE = """\
import numpy as np
import tvm
from tvm import relax, topi
from tvm.script import relax as R

rows, columns = np.arange(16)[:, None], np.arange(8)
weight = (((rows * 7 + columns * 3) % 11 - 5) / 8).astype("float32")
bias = ((np.arange(16) * 5 % 7 - 3) / 4).astype("float32")
"""

MODEL = """\
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            output = builder.emit_output(builder.emit_te(topi.nn.relu, dense))
        builder.emit_func_output(output)
    return builder.get()
"""

LAST = 'print("the last cell")\n'

CELLS = {"prelude": PRELUDE, "model": MODEL, "last": LAST}
"""Shared cells by the names that a case gives them."""
