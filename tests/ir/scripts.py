"""Modules as students write them in TVMScript."""

# ruff: noqa: N803, N805, N806, RET504

from typing import Any

import tvm
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812


def script_relax() -> Any:
    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def relu0(x: T.handle, y: T.handle):
            n = T.int64()
            X = T.match_buffer(x, (1, n), "float32")
            Y = T.match_buffer(y, (1, n), "float32")
            for i, j in T.grid(1, n):
                with T.sblock("Y"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

        @T.prim_func(s_tir=True)
        def linear0(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
            m, n = T.int64(), T.int64()
            X = T.match_buffer(x, (1, m), "float32")
            W = T.match_buffer(w, (n, m), "float32")
            B = T.match_buffer(b, (n,), "float32")
            Z = T.match_buffer(z, (1, n), "float32")
            Y = T.sblock_alloc_buffer((1, n), "float32")
            for i, j, k in T.grid(1, n, m):
                with T.sblock("Y"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        Y[vi, vj] = T.float32(0)
                    Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
            for i, j in T.grid(1, n):
                with T.sblock("Z"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Z[vi, vj] = Y[vi, vj] + B[vj]

        @R.function
        def main(
            x: R.Tensor((1, 784), "float32"),
            w0: R.Tensor((128, 784), "float32"),
            b0: R.Tensor((128,), "float32"),
        ):
            cls = Module
            with R.dataflow():
                lv0 = R.call_tir(cls.linear0, (x, w0, b0), R.Tensor((1, 128), "float32"))
                lv1 = R.call_tir(cls.relu0, (lv0,), R.Tensor((1, 128), "float32"))
                out = R.call_dps_packed("env.linear", (lv1, w0, b0), R.Tensor((1, 10), "float32"))
                R.output(out)
            return out

    return Module


def script_symbolic() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 784), "float32"), w: R.Tensor((784, 128), "float32")):
            n = T.int64()
            lv = R.matmul(x, w)
            with R.dataflow():
                lv1 = R.nn.relu(lv)
                lv2 = R.reshape(lv1, (n * 2, 64))
                lv3 = R.match_cast(lv2, R.Tensor((n * 2, 64), "float32"))
                pair = (lv3, lv1)
                first = pair[0]
                gv = R.add(first, R.const(1.0, "float32"))
                R.output(gv)
            s = R.shape([n, 2])
            return (gv, s)

    return Module


def script_branches() -> Any:
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor(
            (4,), "float32"
        ):
            cls = Module
            if c:  # noqa: SIM108
                w = R.add(x, x)
            else:
                w = R.multiply(x, x)
            y = cls.sub(w)
            return y

        @R.function(private=True)
        def sub(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            z = R.nn.softmax(x)
            return z

    return Module


def flat_tir() -> Any:  # noqa: C901
    @T.prim_func(s_tir=True)
    def select(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.serial(16):
            if i < 8:
                B[i] = A[i]
            else:
                B[i] = T.Select(A[i] > T.float32(0), A[i], T.exp(A[i]))

    @T.prim_func
    def plain(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        t = T.alloc_buffer((16,), "float32")
        for i in T.vectorized(16):
            t[i] = A[i]
        for i in T.unroll(4):
            for j in T.parallel(4):
                x: T.let = i * 4 + j
                B[x] = t[i * 4 + j]

    @T.prim_func(s_tir=True)
    def local(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
        acc = T.sblock_alloc_buffer((1,), "float32", scope="local")
        for i in T.serial(16):
            with T.sblock("b"):
                vi = T.axis.spatial(16, i)
                T.where(i < n)
                T.reads(A[vi])
                T.writes(B[vi])
                acc[0] = T.float32(0)
                for _k in T.serial(4):
                    acc[0] = acc[0] + A[vi]
                B[vi] = T.if_then_else(vi < 8, acc[0], T.float32(1))

    @T.prim_func(s_tir=True)
    def vector(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        assert A[0] > T.float32(0), "positive"
        B[T.Ramp(0, 1, 16)] = A[T.Ramp(0, 1, 16)] * T.Broadcast(T.float32(2), 16)

    @T.prim_func(s_tir=True)
    def start(
        A: T.Buffer((16, 4), "float32"),
        b: T.Buffer((16,), "float32"),
        C: T.Buffer((16,), "float32"),
    ):
        for i, k in T.grid(16, 4):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = b[vi]
                C[vi] = C[vi] + A[vi, vk]

    functions = {
        "select": select, "plain": plain, "local": local, "vector": vector, "start": start,
    }  # fmt: skip
    return tvm.IRModule(functions)


def exercises() -> Any:
    @I.ir_module
    class MyBmmRelu:
        @T.prim_func(s_tir=True)
        def add(
            A: T.Buffer((4, 4), "int64"), B: T.Buffer((4,), "int64"), C: T.Buffer((4, 4), "int64")
        ):
            T.func_attr({"global_symbol": "add", "tirx.noalias": True})
            for i, j in T.grid(4, 4):
                with T.sblock("C"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = A[vi, vj] + B[vj]

        @T.prim_func(s_tir=True)
        def bmm_relu(
            A: T.Buffer((16, 128, 128), "float32"),
            B: T.Buffer((16, 128, 128), "float32"),
            C: T.Buffer((16, 128, 128), "float32"),
        ):
            T.func_attr({"global_symbol": "bmm", "tir.noalias": True})
            Y = T.sblock_alloc_buffer((16, 128, 128), dtype="float32")
            for n in T.parallel(16):
                for i, j, k in T.grid(128, 128, 128):
                    with T.sblock("Y"):
                        vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                        with T.init():
                            Y[vn, vi, vj] = T.float32(0)
                        Y[vn, vi, vj] += A[vn, vi, vk] * B[vn, vk, vj]
            for n, i, j in T.grid(16, 128, 128):
                with T.sblock("R"):
                    vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                    C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))

    return MyBmmRelu


def stores() -> Any:  # noqa: C901
    @T.prim_func(s_tir=True)
    def stores(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i, j in T.grid(16, 4):
            with T.sblock("again"):
                vi = T.axis.spatial(16, i)
                T.axis.spatial(4, j)
                B[vi] = A[vi]
        for i in range(4):
            with T.sblock("within"):
                vi = T.axis.spatial(4, i)
                for j in range(4):
                    B[vi * 4 + j] = A[vi * 4 + j]
        for i in range(16):
            with T.sblock("twice"):
                vi = T.axis.spatial(16, i)
                value: T.let = A[vi]
                B[0] = value + A[3]
        for i in range(4):
            with T.sblock("part"):
                vi = T.axis.spatial(4, i)
                source = T.match_buffer(A[vi * 4 : vi * 4 + 4], (4,), offset_factor=1)
                target = T.match_buffer(B[vi * 4 : vi * 4 + 4], (4,), offset_factor=1)
                for j in range(4):
                    target[j] = source[j]
        for i in range(4):
            with T.sblock("cleared"):
                vi = T.axis.spatial(4, i)
                cleared = T.match_buffer(B[vi * 4 : vi * 4 + 4], (4,), offset_factor=1)
                cleared[0] = T.float32(0)
        for i in range(4):
            with T.sblock("outer"):
                vi = T.axis.spatial(4, i)
                four = T.match_buffer(A[vi * 4 : vi * 4 + 4], (4,), offset_factor=1)
                for j in range(2):
                    with T.sblock("inner"):
                        vj = T.axis.spatial(2, j)
                        two = T.match_buffer(four[vj * 2 : vj * 2 + 2], (2,), offset_factor=1)
                        B[0] = two[0]

    return tvm.IRModule({"stores": stores})
