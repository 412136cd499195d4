"""Modules that ask for more than arithmetic, built with the real TVM: none is ever run here."""

# ruff: noqa: N803, N805, F841, RET504

from functools import cache
from typing import Any

import tvm
from tvm import relax, s_tir, te, topi
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from tests.ir.modules import emit, product_module, save


def scalar_calls() -> dict[str, Any]:  # noqa: C901
    @T.prim_func(s_tir=True)
    def system(A: T.Buffer((16,), "float32")):
        T.evaluate(T.call_extern("int32", "system", "touch /x"))

    @T.prim_func(s_tir=True)
    def pure(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("b"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + T.Cast("float32", T.call_pure_extern("int32", "getpid"))

    @T.prim_func(s_tir=True)
    def packed(A: T.Buffer((16,), "float32")):
        T.evaluate(T.call_packed("rpc.PopenSession", "/bin/sh"))

    @T.prim_func(s_tir=True)
    def cpacked(A: T.Buffer((16,), "float32")):
        T.evaluate(T.call_cpacked("env.f", 1))

    @T.prim_func(s_tir=True)
    def llvm(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            B[i] = T.call_llvm_pure_intrin("float32", "llvm.sqrt.f32", A[i])

    @T.prim_func(s_tir=True)
    def endless(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        i = T.sblock_alloc_buffer((1,), "int32")
        i[0] = 0
        while i[0] < 10:
            i[0] = i[0]

    @T.prim_func(s_tir=True)
    def attribute(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        with T.attr("x", "pragma_import_llvm", "define i32 @x() { ret i32 0 }"):
            for i in range(16):
                B[i] = A[i]

    @T.prim_func
    def launch(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        tx = T.launch_thread("threadIdx.x", 16)
        B[tx] = A[tx]

    @T.prim_func(s_tir=True)
    def scope(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        t = T.sblock_alloc_buffer((16,), "float32", scope="wmma.accumulator")
        for i in range(16):
            t[i] = A[i]
            B[i] = t[i]

    functions = {
        "call_extern": system,
        "call_pure_extern": pure,
        "call_packed": packed,
        "call_cpacked": cpacked,
        "call_llvm_pure_intrin": llvm,
        "while": endless,
        "attr import_llvm": attribute,
        "launch_thread": launch,
        "scope": scope,
    }
    return {name: tvm.IRModule({"main": function}) for name, function in functions.items()}


def tensor_expressions() -> dict[str, Any]:
    def pure_extern(x: Any) -> Any:
        command = tvm.ir.StringImm("ls")
        return te.compute(
            (4,), lambda i: x[i] + tvm.tirx.call_pure_extern("float32", "system", command)
        )

    def packed(x: Any) -> Any:
        return te.extern((4,), [x], lambda i, o: tvm.tirx.call_packed("env.f", i[0], o[0]))

    return {
        "te call_pure_extern": emit(pure_extern, (4,), name="f"),
        "te call_packed": emit(packed, (4,), name="f"),
        "topi sort": emit(topi.sort, (4,), name="f"),
    }


def annotations() -> dict[str, Any]:
    values = {
        "pragma_import_llvm": "define i32 @x() { ret i32 0 }",
        "pragma_import_c": "int x;",
        "my_key": 1,
    }
    built = {}
    for key, value in values.items():
        for what in ("loop", "block"):
            sch = s_tir.Schedule(product_module())
            block = sch.get_sblock("Y", func_name="mm_relu")
            sch.annotate(sch.get_loops(block)[0] if what == "loop" else block, key, value)
            built[f"{what} {key}"] = sch.mod
    sch = s_tir.Schedule(product_module())
    sch.bind(sch.get_loops(sch.get_sblock("Y", func_name="mm_relu"))[0], "threadIdx.x")
    return built | {"bind": sch.mod}


def relax_calls() -> dict[str, Any]:
    @I.ir_module
    class Packed:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            y = R.call_packed("rpc.PopenSession", "/bin/sh", ty_args=R.Object)
            return x

    @I.ir_module
    class PurePacked:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                y = R.call_pure_packed("rpc.CreatePipeClient", "/bin/sh", ty_args=R.Object)
                R.output(y)
            return x

    @I.ir_module
    class InplacePacked:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            _ = R.call_inplace_packed(
                "env.f", x, inplace_indices=[0], ty_args=R.Tensor((4,), "float32")
            )
            return x

    @I.ir_module
    class DpsPacked:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.call_dps_packed("ffi.ModuleLoadFromFile", (x,), R.Tensor((4,), "float32"))
            return y

    @I.ir_module
    class Print:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            _ = R.print(x, format="{}")
            return x

    @I.ir_module
    class Assert:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            _ = R.assert_op(R.const(True, "bool"), x, format="{}")
            return x

    @I.ir_module
    class Allocate:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            return y

    @I.ir_module
    class Value:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            f = R.ExternFunc("rpc.Connect")
            y = f(x)
            return y

    return {
        "relax call_packed": Packed,
        "relax call_pure_packed": PurePacked,
        "relax call_inplace_packed": InplacePacked,
        "relax call_dps_packed": DpsPacked,
        "relax print": Print,
        "relax assert_op": Assert,
        "relax alloc_tensor": Allocate,
        "relax extern value": Value,
    }


def whole_modules() -> dict[str, Any]:
    @I.ir_module
    class InPlace:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((4,), "float32")):
            for i in range(4):
                A[i] = T.float32(1)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = InPlace
            y = R.call_tir_inplace(cls.f, (x,), [0], R.Tensor((4,), "float32"))
            return y

    @I.ir_module
    class Attributes:
        I.module_attrs({"system_lib_prefix": "x"})
        I.module_global_infos({"dummy": [I.dummy_global_info()]})

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            R.func_attr({"Codegen": "dnnl"})
            return x

    extern = emit(topi.nn.relu, (4,), name="f")
    extern["g"] = relax.ExternFunc("g")
    return {"call_tir_inplace": InPlace, "attributes": Attributes, "extern function": extern}


def devices() -> Any:
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return x

    return Module


@cache
def all_documents() -> dict[str, bytes]:
    """Return all modules of this file, saved."""
    built = scalar_calls() | tensor_expressions() | annotations() | relax_calls()
    built |= whole_modules()
    return {name: save(module) for name, module in built.items()}
