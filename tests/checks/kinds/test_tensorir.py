"""The check that a computation is written in blocks whose axes are of the right kinds."""

# ruff: noqa: N803, N805, N812

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
import tvm
from tvm import te
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from grader.assignment import CheckTable, Computation
from grader.checks.kinds.tensorir import TensorIROptions, tensorir
from grader.errors import CourseError
from grader.evidence.case import Problem
from grader.evidence.registry import find_check
from grader.ir.read import read_module
from grader.language import foreign
from tests.evidence.factory import case
from tests.ir.modules import save

ROWS = msgspec.convert(
    {
        "id": "rows",
        "arguments": [{"shape": [4, 8]}, {"shape": [8]}],
        "outputs": [{"shape": [4]}],
    },
    Computation,
)
"""A product of a matrix and a vector: one spatial axis, one that is summed over."""

SR = TensorIROptions(axes=("SR",))


def judge(module, options=SR):
    """Return what the check says of a module or a PrimFunc, with the computation ROWS."""
    whole = module if isinstance(module, tvm.IRModule) else tvm.IRModule({"rows": module})
    return tensorir(replace(case(read_module(save(whole))), comparison=ROWS), options)


@T.prim_func(s_tir=True)
def right(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def nested(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i in range(4):
        with T.sblock("row"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.float32(0)
            for k in range(8):
                with T.sblock("sum"):
                    vk = T.axis.reduce(8, k)
                    C[vi] = C[vi] + A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def spatial(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i in range(4):
        with T.sblock("zero"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.float32(0)
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi] = C[vi] + A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def reduction(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("RR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def without_start(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def start_apart(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i in range(4):
        with T.sblock("zero"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.float32(0)
    for k, i in T.grid(8, 4):
        with T.sblock("C"):
            vk, vi = T.axis.remap("RS", [k, i])
            C[vi] += A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def start_too_late(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] += A[vi, vk] * B[vk]
    for i in range(4):
        with T.sblock("zero"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.float32(0)


@T.prim_func(s_tir=True)
def start_on_nothing(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i in range(4):
        with T.sblock("halved"):
            vi = T.axis.spatial(4, i)
            C[vi] = C[vi] * T.float32(0.5)
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] += A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def changed_in_place(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]
    for i in range(4):
        with T.sblock("relu"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.max(C[vi], T.float32(0))


@T.prim_func(s_tir=True)
def loop_within(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.float32(0)
            for k in range(8):
                C[vi] = C[vi] + A[vi, k] * B[k]


@T.prim_func(s_tir=True)
def no_block(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i in range(4):
        C[i] = T.float32(0)
        for k in range(8):
            C[i] = C[i] + A[i, k] * B[k]


@T.prim_func(s_tir=True)
def no_sum(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi] = A[vi, vk] * B[vk]


@T.prim_func(s_tir=True)
def one_axis_more(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
    for n, i, k in T.grid(1, 4, 8):
        with T.sblock("C"):
            _, vi, vk = T.axis.remap("SSR", [n, i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]


def of_tensor_expressions():
    a, b = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="B")
    k = te.reduce_axis((0, 8), name="k")
    return te.create_prim_func([a, b, te.compute((4,), lambda i: te.sum(a[i, k] * b[k], axis=k))])


def table_of_halves(kind):
    """Return a function of a matrix that first fills a vector, along an axis of this kind."""
    axis = getattr(T.axis, {"S": "spatial", "R": "reduce"}[kind])

    @T.prim_func(s_tir=True)
    def halves(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
        half = T.sblock_alloc_buffer((8,))
        scaled = T.sblock_alloc_buffer((4, 8))
        for j in range(8):
            with T.sblock("half"):
                vj = axis(8, j)
                half[vj] = B[vj] / T.float32(2)
        for i, j in T.grid(4, 8):
            with T.sblock("scaled"):
                vi, vj = T.axis.remap("SS", [i, j])
                scaled[vi, vj] = A[vi, vj] + half[vj]
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi] = scaled[vi, vj]

    return halves


class TestRight:
    @pytest.mark.parametrize(
        "function", [right, nested, start_apart, changed_in_place, of_tensor_expressions()]
    )
    def test_a_sum_over_a_reduction_axis_with_a_start_value_passes(self, function):
        assert ("passed", 1.0) == (judge(function).verdict, judge(function).fraction)

    def test_an_axis_of_one_step_may_be_left_out_where_the_assignment_says_so(self):
        lenient = TensorIROptions(axes=("SSR", "SR"))
        assert ["passed"] * 2 == [judge(each, lenient).verdict for each in (right, one_axis_more)]
        assert "failed" == judge(one_axis_more).verdict

    def test_a_vector_of_the_functions_own_needs_no_more_axes_than_it_has(self):
        both = TensorIROptions(axes=("SS",))
        assert "passed" == judge(table_of_halves("S"), both).verdict
        assert "failed" == judge(table_of_halves("R"), both).verdict

    def test_other_functions_of_the_module_are_not_looked_at(self):
        @T.prim_func(s_tir=True)
        def other(A: T.Buffer((4,)), B: T.Buffer((4,))):
            for i in range(4):
                B[i] = A[i]

        assert "passed" == judge(tvm.IRModule({"a": other, "rows": right})).verdict


class TestWrong:
    @pytest.mark.parametrize(
        ("function", "reason"),
        [
            (spatial, "`C` has the axes SS; it should have SR: an axis of the sum is not"),
            (reduction, "`C` has the axes RR; it should have SR: an axis of the output is decl"),
            (one_axis_more, "`C` has the axes SSR; it should have SR."),
            (without_start, "`C` adds to `C`, which is not initialised before the sum"),
            (start_on_nothing, "`C` adds to `C`, which is not initialised before the sum"),
            (start_too_late, "`C` adds to `C`, which is not initialised before the sum"),
            (loop_within, "The loop `k` is inside the block `C`"),
            (no_block, "`rows` has no block."),
            (no_sum, "No block computes a sum."),
        ],
    )
    def test_a_mistake_fails_with_its_reason_and_a_hint(self, function, reason):
        outcome = judge(function)
        assert ("failed", True) == (outcome.verdict, bool(outcome.hint))
        assert reason in outcome.reason.english

    def test_without_a_sum_all_blocks_must_have_the_axes(self):
        assert "passed" == judge(no_sum, TensorIROptions(axes=("SS",))).verdict
        assert "failed" == judge(right, TensorIROptions(axes=("S",))).verdict

    def test_other_parameters_than_asked_for_fail(self):
        @T.prim_func(s_tir=True)
        def of_doubles(
            A: T.Buffer((4, 8), "float64"), B: T.Buffer((8,), "float64"), C: T.Buffer((4,))
        ):
            C[0] = T.float32(0)

        assert "No TensorIR function" in judge(of_doubles).reason.english

    def test_other_parameters_are_told_once_where_outputs_cannot_be_compared(self):
        """A convolution with padding was told of as two things to mend."""

        @T.prim_func(s_tir=True)
        def longer(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((6,))):
            C[0] = T.float32(0)

        told = Problem(foreign("It has 6."), foreign("It must have 4."), code="signature")
        facts = read_module(save(tvm.IRModule({"rows": longer})))
        outcome = tensorir(replace(case(facts, outputs=told), comparison=ROWS), SR)
        assert (told.reason, told.hint) == (outcome.reason, outcome.hint)

    def test_a_function_that_fills_nothing_but_its_own_buffer_has_no_axes_right(self):
        @T.prim_func(s_tir=True)
        def idle(A: T.Buffer((4, 8)), B: T.Buffer((8,)), C: T.Buffer((4,))):
            own = T.sblock_alloc_buffer((8,))
            for j in range(8):
                with T.sblock("own"):
                    vj = T.axis.spatial(8, j)
                    own[vj] = B[vj]

        outcome = judge(idle, TensorIROptions(axes=("SS",)))
        assert "it should have SS" in outcome.reason.english


class TestWithoutAxes:
    """Scheduled functions have whatever axes their schedule left."""

    @pytest.mark.parametrize("function", [right, spatial, loop_within])
    def test_any_blocks_pass(self, function):
        assert "passed" == judge(function, TensorIROptions()).verdict

    def test_no_block_at_all_fails(self):
        assert "failed" == judge(no_block, TensorIROptions()).verdict


class TestRelax:
    def test_the_functions_that_main_calls_are_judged(self):
        assert "passed" == judge(with_main(right)).verdict
        assert "`C` has the axes SS" in judge(with_main(spatial)).reason.english

    def test_an_operator_in_place_of_a_function_fails_and_is_named(self):
        @I.ir_module
        class Operator:
            @R.function
            def main(a: R.Tensor((4, 8), "float32"), b: R.Tensor((8,), "float32")):
                with R.dataflow():
                    product = R.matmul(a, b)
                    R.output(product)
                return product

        assert "`product` is computed by `relax.matmul`" in judge(Operator).reason.english


def with_main(function):
    builder = tvm.relax.BlockBuilder()
    a = tvm.relax.Var("a", R.Tensor((4, 8), "float32"))
    b = tvm.relax.Var("b", R.Tensor((8,), "float32"))
    rows = builder.add_func(function, "rows")
    with builder.function("main", [a, b]):
        with builder.dataflow():
            called = tvm.relax.op.call_tir(rows, [a, b], R.Tensor((4,), "float32"))
            output = builder.emit_output(builder.emit(called))
        builder.emit_func_output(output)
    return builder.get()


class TestOptions:
    def test_axes_are_words_of_two_letters(self):
        table = CheckTable(id="blocks", kind="tensorir", options={"axes": ["SX"]})
        with pytest.raises(CourseError, match="blocks"):
            find_check(table).parse(table)
