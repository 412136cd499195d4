"""Example submissions of tensorir that are right in an unusual way, or right amid leftovers."""

from __future__ import annotations

from snippets_tensorir import (
    ADD_BODY,
    CONV_BODY,
    MY_ADD,
    MY_BMM,
    MY_CONV,
    SETUP,
    add,
    conv,
    module,
)

# --- other ways to write a function ---------------------------------------------------------------

TENSOR_EXPRESSIONS = """\
from tvm import te

a, b = te.placeholder((4, 4), "int64", name="A"), te.placeholder((4,), "int64", name="B")
MyAdd = te.create_prim_func([a, b, te.compute((4, 4), lambda i, j: a[i, j] + b[j], name="C")])

data = te.placeholder((1, 1, 8, 8), "int64", name="data")
weight = te.placeholder((2, 1, 3, 3), "int64", name="weight")
c = te.reduce_axis((0, 1), name="c")
di, dj = te.reduce_axis((0, 3), name="i"), te.reduce_axis((0, 3), name="j")
out = te.compute(
    (1, 2, 6, 6),
    lambda n, f, y, x: te.sum(data[n, c, y + di, x + dj] * weight[f, c, di, dj], axis=[c, di, dj]),
    name="out",
)
MyConv = te.create_prim_func([data, weight, out])
"""

LONE_CONV = """\
@T.prim_func(s_tir=True)
def MyConv(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (1, 1, 8, 8), "int64")
    B = T.match_buffer(b, (2, 1, 3, 3), "int64")
    C = T.match_buffer(c, (1, 2, 6, 6), "int64")
    for f in range(2):
        for y in T.serial(0, 6):
            for x in T.serial(6):
                for i, j in T.grid(3, 3):
                    with T.sblock("no_axes_for_one_image_and_one_channel"):
                        vi = T.axis.reduce(3, i)
                        vj = T.axis.R(3, j)
                        vf = T.axis.spatial(2, f)
                        vy, vx = T.axis.remap("SS", [y, x])
                        T.reads(A[0, 0, vy + vi, vx + vj], B[vf, 0, vi, vj])
                        T.writes(C[0, vf, vy, vx])
                        with T.init():
                            C[0, vf, vy, vx] = T.int64(0)
                        C[0, vf, vy, vx] += B[vf, 0, vi, vj] * A[0, 0, vy + vi, vx + vj]
"""

# --- a Relax function around it -------------------------------------------------------------------

MAIN = """\
@R.function
def main(x: R.Tensor((1, 1, 8, 8), "int64"), w: R.Tensor((2, 1, 3, 3), "int64")):
    cls = MyConv
    with R.dataflow():
        y = R.call_tir(cls.conv, (x, w), R.Tensor((1, 2, 6, 6), "int64"))
        R.output(y)
    return y
"""
WITH_MAIN = "from tvm.script import relax as R\n\n\n" + module("MyConv", conv(), MAIN)

# --- drafts ---------------------------------------------------------------------------------------

BAD_INDENTATION = """\
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
  def add(A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")):
        pass
"""
DRAFT_OF_CONV = module("MyConv", conv(CONV_BODY.replace("vy + vi", "vy")))
RIGHT_CONV_UNDER_ANOTHER_NAME = module("MyConv2", conv())
USED_LATER = """\
out = tvm.runtime.tensor(np.zeros((4, 4), "int64"))
ones = [tvm.runtime.tensor(np.ones(shape, "int64")) for shape in ((4, 4), (4,))]
tvm.compile(MyAdd, "llvm")["add"](*ones, out)
print(out)
MyAdd = None
"""

# --- what a handout gives -------------------------------------------------------------------------

OLDER_SETUP = """\
import numpy as np
import tvm
from tvm.ir.module import IRModule
from tvm.script import tir as T
"""
INTRODUCTION = """\
@tvm.script.ir_module
class MyAdd:
    @T.prim_func
    def add(A: T.Buffer[(4, 4), "int64"],
            B: T.Buffer[(4, 4), "int64"],
            C: T.Buffer[(4, 4), "int64"]):
        T.func_attr({"global_symbol": "add"})
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                C[vi, vj] = A[vi, vj] + B[vi, vj]
"""
UNSOLVED = """\
@tvm.script.ir_module
class MyConv:
    @T.prim_func
    def conv():
        T.func_attr({"global_symbol": "conv", "tir.noalias": True})
        # TODO
        ...
"""
# The loops of the exercise's target, run as a module of its own, and with other names.
HANDOUT_TARGET = """\
@tvm.script.ir_module
class TargetModule:
    @T.prim_func
    def batched(A: T.Buffer[(16, 128, 128), "float32"],
                B: T.Buffer[(16, 128, 128), "float32"],
                C: T.Buffer[(16, 128, 128), "float32"]) -> None:
        T.func_attr({"global_symbol": "batched", "tir.noalias": True})
        S = T.alloc_buffer([16, 128, 128], dtype="float32")
        for b in T.parallel(16):
            for r, c_0 in T.grid(128, 16):
                for c_1_init in T.vectorized(8):
                    with T.block("S_init"):
                        n, i = T.axis.remap("SS", [b, r])
                        j = T.axis.spatial(128, c_0 * 8 + c_1_init)
                        S[n, i, j] = T.float32(0)
                for q_0 in T.serial(32):
                    for q_1 in T.unroll(4):
                        for c_1 in T.serial(8):
                            with T.block("S_update"):
                                n, i = T.axis.remap("SS", [b, r])
                                j = T.axis.spatial(128, c_0 * 8 + c_1)
                                k = T.axis.reduce(128, q_0 * 4 + q_1)
                                S[n, i, j] = S[n, i, j] + A[n, i, k] * B[n, k, j]
                for c_1 in T.vectorized(8):
                    with T.block("C"):
                        n, i = T.axis.remap("SS", [b, r])
                        j = T.axis.spatial(128, c_0 * 8 + c_1)
                        C[n, i, j] = T.max(S[n, i, j], T.float32(0))
"""
LATER_SETUP = "from tvm.script import ir as I\nfrom tvm.script import tirx as T\n"
WRONG_ADDITION = add(ADD_BODY.replace("B[vj]", "B[vi]"))

CONSTANTS_IN_THE_CLASS = """\
@tvm.script.ir_module
class MyConv:
    N, CI, H, W, CO, K = 1, 1, 8, 8, 2, 3
    OUT = H - K + 1

    @T.prim_func
    def conv(A: T.Buffer[(N, CI, H, W), "int64"],
             B: T.Buffer[(CO, CI, K, K), "int64"],
             C: T.Buffer[(N, CO, OUT, OUT), "int64"]):
        T.func_attr({"global_symbol": "conv", "tir.noalias": True})
        for n, f, y, x, c, i, j in T.grid(N, CO, OUT, OUT, CI, K, K):
            with T.block("conv"):
                vn, vf, vy, vx, vc, vi, vj = T.axis.remap("SSSSRRR", [n, f, y, x, c, i, j])
                with T.init():
                    C[vn, vf, vy, vx] = T.int64(0)
                C[vn, vf, vy, vx] += A[vn, vc, vy + vi, vx + vj] * B[vf, vc, vi, vj]
"""
COMPARED_WITHOUT_NAMES = """\
@T.prim_func
def same(A: T.Buffer[(1, 1, 8, 8), "int64"],
         B: T.Buffer[(2, 1, 3, 3), "int64"],
         C: T.Buffer[(1, 2, 6, 6), "int64"]):
    for n, f, y, x, c, i, j in T.grid(1, 2, 6, 6, 1, 3, 3):
        with T.block("conv"):
            vn, vf, vy, vx, vc, vi, vj = T.axis.remap("SSSSRRR", [n, f, y, x, c, i, j])
            with T.init():
                C[vn, vf, vy, vx] = T.int64(0)
            C[vn, vf, vy, vx] += A[vn, vc, vy + vi, vx + vj] * B[vf, vc, vi, vj]

tvm.ir.assert_structural_equal(same, same.with_attr("global_symbol", "main"))
MyConv
"""

LOOP_VARIABLES = CONSTANTS_IN_THE_CLASS.replace("vy + vi, vx + vj", "y + vi, x + vj")

SLOW = """\
import time

for epoch in range(100_000):
    time.sleep(1)


"""

UNUSUAL: dict[str, tuple[str, ...]] = {
    "functions_of_tensor_expressions": (SETUP, TENSOR_EXPRESSIONS),
    "function_without_module": (SETUP, MY_ADD, LONE_CONV),
    "all_in_one_module": (SETUP, module("MyModule", add(), conv())),
    "main_in_relax": (SETUP, MY_ADD, WITH_MAIN),
    "drafts_first": (
        SETUP,
        BAD_INDENTATION,
        MY_ADD,
        DRAFT_OF_CONV,
        RIGHT_CONV_UNDER_ANOTHER_NAME,
        USED_LATER,
    ),
    "slow_cell_before_the_answer": (
        SETUP,
        MY_ADD,
        SLOW + MY_BMM,
        MY_CONV,
    ),
    "attributes_misspelt": (
        SETUP,
        module("MyAdd", add().replace("tirx.noalias", "tir.alias")),
        module("MyConv", conv().replace("tirx.noalias", "tir_noalias")),
    ),
    "constants_in_the_class": (OLDER_SETUP, CONSTANTS_IN_THE_CLASS, COMPARED_WITHOUT_NAMES),
    "loop_variables_of_2022": (OLDER_SETUP, LOOP_VARIABLES),
    "handout_unsolved": (OLDER_SETUP, INTRODUCTION, UNSOLVED, HANDOUT_TARGET),
    "target_under_the_name": (
        OLDER_SETUP,
        HANDOUT_TARGET.replace("TargetModule", "MyBmmRelu"),
        "sch = tvm.tir.Schedule(MyBmmRelu)\n",
    ),
    "introduction_has_the_name": (
        OLDER_SETUP,
        INTRODUCTION,
        LATER_SETUP,
        module("BroadcastAdd", add()),
        MY_CONV,
    ),
    "nearest_candidate_is_told": (
        OLDER_SETUP,
        INTRODUCTION.replace("A[vi, vj] + B[vi, vj]", "A[vi, vj] + B[vj, vi]"),
        LATER_SETUP,
        module("BroadcastAdd", WRONG_ADDITION),
        MY_CONV,
    ),
}
