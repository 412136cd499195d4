"""Example submissions of tensorir that are right in an unusual way, or right amid leftovers."""

from __future__ import annotations

from snippets_tensorir import (
    BMM_RELU,
    BMM_SUM,
    CONV_BODY,
    MY_ADD,
    MY_BMM,
    MY_CONV,
    SETUP,
    add,
    bmm,
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

p, q = (te.placeholder((16, 128, 128), "float32", name=name) for name in "PQ")
k = te.reduce_axis((0, 128), name="k")
y = te.compute((16, 128, 128), lambda n, i, j: te.sum(p[n, i, k] * q[n, k, j], axis=k), name="Y")
relu = te.compute(y.shape, lambda *i: te.max(y[i], 0.0), name="relu")
MyBmmRelu = te.create_prim_func([p, q, relu])
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

# The initial value in a block of its own, and the ReLU in the place of the sums.
DECOMPOSED_BMM = """\
for n, i, j in T.grid(16, 128, 128):
    with T.sblock("zero"):
        vn, vi, vj = T.axis.remap("SSS", [n, i, j])
        C[vn, vi, vj] = T.float32(0)
for n, i, k, j in T.grid(16, 128, 128, 128):
    with T.sblock("sum"):
        vn, vi, vk, vj = T.axis.remap("SSRS", [n, i, k, j])
        C[vn, vi, vj] = A[vn, vi, vk] * B[vn, vk, vj] + C[vn, vi, vj]
for n, i, j in T.grid(16, 128, 128):
    with T.sblock("relu"):
        vn, vi, vj = T.axis.remap("SSS", [n, i, j])
        C[vn, vi, vj] = T.if_then_else(C[vn, vi, vj] > T.float32(0), C[vn, vi, vj], T.float32(0))
"""

# --- a Relax function around it -------------------------------------------------------------------

WITH_MAIN = """\
from tvm.script import relax as R

@I.ir_module
class MyBmmRelu:
    @T.prim_func(s_tir=True)
    def product(A: T.Buffer((16, 128, 128), "float32"), B: T.Buffer((16, 128, 128), "float32"),
                Y: T.Buffer((16, 128, 128), "float32")):
        for n, i, j, k in T.grid(16, 128, 128, 128):
            with T.sblock("Y"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    Y[vn, vi, vj] = T.float32(0)
                Y[vn, vi, vj] += A[vn, vi, vk] * B[vn, vk, vj]

    @T.prim_func(s_tir=True)
    def relu(Y: T.Buffer((16, 128, 128), "float32"), C: T.Buffer((16, 128, 128), "float32")):
        for n, i, j in T.grid(16, 128, 128):
            with T.sblock("C"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))

    @R.function
    def main(A: R.Tensor((16, 128, 128), "float32"), B: R.Tensor((16, 128, 128), "float32")):
        cls = MyBmmRelu
        with R.dataflow():
            Y = R.call_tir(cls.product, (A, B), R.Tensor((16, 128, 128), "float32"))
            C = R.call_tir(cls.relu, (Y,), R.Tensor((16, 128, 128), "float32"))
            R.output(C)
        return C
"""

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

UNUSUAL: dict[str, tuple[str, ...]] = {
    "functions_of_tensor_expressions": (SETUP, TENSOR_EXPRESSIONS),
    "function_without_module": (
        SETUP,
        MY_ADD,
        LONE_CONV,
        module("MyBmmRelu", bmm(DECOMPOSED_BMM)),
    ),
    "all_in_one_module": (SETUP, module("MyModule", add(), conv(), bmm(BMM_SUM + BMM_RELU))),
    "main_in_relax": (SETUP, MY_ADD, MY_CONV, WITH_MAIN),
    "drafts_first": (
        SETUP,
        BAD_INDENTATION,
        MY_ADD,
        DRAFT_OF_CONV,
        RIGHT_CONV_UNDER_ANOTHER_NAME,
        MY_BMM,
        USED_LATER,
    ),
}
