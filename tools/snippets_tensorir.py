"""Cells that the example submissions of tensorir share, as text of Python.

`add`, `conv` and `bmm` write a module as most students do: an example says only the lines in which
it differs.
"""

from __future__ import annotations

from textwrap import indent

SETUP = """\
import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T
"""

ADD_BODY = """\
for i, j in T.grid(4, 4):
    with T.sblock("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] + B[vj]
"""

CONV_BODY = """\
for n, f, y, x, c, i, j in T.grid(1, 2, 6, 6, 1, 3, 3):
    with T.sblock("conv"):
        vn, vf, vy, vx, vc, vi, vj = T.axis.remap("SSSSRRR", [n, f, y, x, c, i, j])
        with T.init():
            C[vn, vf, vy, vx] = T.int64(0)
        C[vn, vf, vy, vx] += A[vn, vc, vy + vi, vx + vj] * B[vf, vc, vi, vj]
"""

BMM_SUM = """\
Y = T.sblock_alloc_buffer((16, 128, 128), "float32")
for n, i, j, k in T.grid(16, 128, 128, 128):
    with T.sblock("Y"):
        vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
        with T.init():
            Y[vn, vi, vj] = T.float32(0)
        Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
"""

BMM_RELU = """\
for n, i, j in T.grid(16, 128, 128):
    with T.sblock("C"):
        vn, vi, vj = T.axis.remap("SSS", [n, i, j])
        C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))
"""


def function(name: str, shapes: tuple[str, str, str], dtype: str, body: str) -> str:
    """Return a PrimFunc of the buffers A, B and C, of the given shapes."""
    buffers = [
        f'{buffer}: T.Buffer({shape}, "{dtype}")'
        for buffer, shape in zip("ABC", shapes, strict=True)
    ]
    return f"""\
@T.prim_func(s_tir=True)
def {name}({", ".join(buffers)}):
    T.func_attr({{"global_symbol": "{name}", "tirx.noalias": True}})
{indent(body, "    ")}"""


def module(name: str, *functions: str) -> str:
    """Return a cell that binds an IRModule of the functions to a name."""
    return f"@I.ir_module\nclass {name}:\n" + indent("\n".join(functions), "    ")


def add(body: str = ADD_BODY, dtype: str = "int64") -> str:
    """Return the function of part 1."""
    return function("add", ("(4, 4)", "(4,)", "(4, 4)"), dtype, body)


def conv(body: str = CONV_BODY) -> str:
    """Return the function of part 2."""
    return function("conv", ("(1, 1, 8, 8)", "(2, 1, 3, 3)", "(1, 2, 6, 6)"), "int64", body)


def bmm(body: str = BMM_SUM + BMM_RELU) -> str:
    """Return the function of part 3."""
    return function("bmm_relu", ("(16, 128, 128)",) * 3, "float32", body)


MY_ADD = module("MyAdd", add())
MY_CONV = module("MyConv", conv())
MY_BMM = module("MyBmmRelu", bmm())

SCHEDULE = """\
sch = tvm.s_tir.Schedule(MyBmmRelu)
Y = sch.get_sblock("Y", func_name="bmm_relu")
C = sch.get_sblock("C", func_name="bmm_relu")
n, i, j, k = sch.get_loops(Y)
sch.parallel(n)
j0, j1 = sch.split(j, factors=[None, 8])
sch.reverse_compute_at(C, j0)
sch.vectorize(sch.get_loops(C)[-1])
k0, k1 = sch.split(k, factors=[None, 4])
sch.reorder(k0, k1, j1)
sch.unroll(k1)
sch.vectorize(j1)
sch.decompose_reduction(Y, k0)
"""
