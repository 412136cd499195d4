"""Decisions by the contents of a buffer are found, and nothing else is taken for one."""

# ruff: noqa: N803, N806

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import te
from tvm.script import tirx as T  # noqa: N812

from grader.errors import IRError
from grader.ir.content import find_decisions
from grader.ir.expressions import Budget
from grader.ir.facts import Finding
from grader.ir.graph import decode_graph
from grader.ir.read import read_module
from tests.ir.documents import Document
from tests.ir.modules import save

ONE, ZERO = T.float32(1), T.float32(0)


def decisions(function: Any) -> tuple[Finding, ...]:
    """Return what is found in a function that is called `f`."""
    module = tvm.IRModule({"f": function.with_attr("global_symbol", "f")})
    return read_module(save(module)).functions["f"].decisions


def computed(value: Callable[[Any, Any, Any], Any]) -> tuple[Finding, ...]:
    """Return what is found in C[i] = value(A, B, i); A is of numbers, B of integers."""
    A = te.placeholder((16,), "float32", "A")
    B = te.placeholder((16,), "int32", "B")
    C = te.compute((16,), lambda i: value(A, B, i), "C")
    return decisions(te.create_prim_func([A, B, C]))


# --- statements ----------------------------------------------------------------------------------


@T.prim_func(s_tir=True)
def statement_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        if A[0] > 3:
            C[i] = T.float32(1)


@T.prim_func(s_tir=True)
def extent_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    for i in range(A[0]):
        C[i] = T.float32(1)


@T.prim_func(s_tir=True)
def start_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    for i in T.serial(A[0], 16):
        C[i] = T.float32(1)


@T.prim_func(s_tir=True)
def attribute_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    with T.attr(0, "pragma_auto_unroll_max_step", A[0]):
        C[0] = T.float32(1)


@T.prim_func(s_tir=True)
def strides_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    with T.sblock("b"):
        T.reads(A[0:16])
        T.writes(C[0:16])
        part = T.match_buffer(C[0:2], (2,), "float32", strides=[A[0]], offset_factor=1)
        part[1] = T.float32(1)


@T.prim_func(s_tir=True)
def predicate_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i)
            T.where(A[0] > 3)
            C[vi] = T.float32(1)


@T.prim_func(s_tir=True)
def iterator_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, A[i])
            C[vi] = T.float32(1)


@T.prim_func(s_tir=True)
def region_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    with T.sblock("b"):
        T.reads(A[0:16])
        T.writes(C[A[0] : A[0] + 4])
        part = T.match_buffer(C[A[0] : A[0] + 4], (4,), "float32", offset_factor=1)
        part[0] = T.float32(1)


@T.prim_func(s_tir=True)
def assertion_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    assert A[0] > 3, "small"
    C[0] = T.float32(1)


@T.prim_func(s_tir=True)
def while_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    while A[0] > 3:
        C[0] = T.float32(1)


@T.prim_func(s_tir=True)
def store_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    C[A[0]] = T.float32(1)


@T.prim_func(s_tir=True)
def load_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        C[i] = C[A[i]] + T.float32(1)


@T.prim_func(s_tir=True)
def vector_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    C[T.Ramp(A[0], 1, 4)] = T.Broadcast(T.float32(1), 4)


@T.prim_func(s_tir=True)
def variable_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    first: T.let = A[0]
    second: T.let = first + 1
    for i in range(second):
        C[i] = T.float32(1)


@T.prim_func(s_tir=True)
def assumption_by_content(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    T.evaluate(T.assume(A[0] > 3))
    C[0] = T.float32(1)


STATEMENTS = [
    (statement_by_content, "which of its statements run"),
    (extent_by_content, "how often a loop runs"),
    (start_by_content, "how often a loop runs"),
    (attribute_by_content, "which of its statements run"),
    (strides_by_content, "which element of a buffer is accessed"),
    (predicate_by_content, "which of its statements run"),
    (iterator_by_content, "which of its statements run"),
    (region_by_content, "which element of a buffer is accessed"),
    (assertion_by_content, "which of its statements run"),
    (store_by_content, "which element of a buffer is accessed"),
    (load_by_content, "which element of a buffer is accessed"),
    (vector_by_content, "which element of a buffer is accessed"),
    (variable_by_content, "how often a loop runs"),
    (assumption_by_content, "which of its statements run"),
    (while_by_content, "how often a loop runs"),
]


class TestStatements:
    @pytest.mark.parametrize(
        ("function", "what"), [pytest.param(*each, id=each[1]) for each in STATEMENTS]
    )
    def test_a_decision_by_content_names_the_function_and_the_buffer(
        self, function: Any, what: str
    ) -> None:
        expected = f"In the function `f`, the contents of the buffer `A` determine {what}."
        (finding,) = decisions(function)
        assert ("content", "A", "f", expected) == (
            finding.code,
            finding.subject,
            finding.where,
            finding.message.english,
        )

    @pytest.mark.parametrize("field", ["min", "extent", "step"])
    def test_each_bound_of_a_loop_is_looked_at(self, field: str) -> None:
        @T.prim_func(s_tir=True)
        def counted(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
            for i in T.serial(4):
                C[i] = A[0]

        document = Document(save(tvm.IRModule({"f": counted.with_attr("global_symbol", "f")})))
        (loop,) = document.indices("tirx.For")
        (load,) = document.indices("ir.TensorLoad")
        assert load < loop, "a node comes after those it refers to"
        document.nodes[loop]["data"][field] = load
        (finding,) = read_module(document.encode()).functions["f"].decisions
        assert finding.message.english.endswith("how often a loop runs.")

    def test_the_same_by_loop_variables_is_none(self) -> None:
        @T.prim_func(s_tir=True)
        def by_loop(A: T.Buffer((16,), "float16"), C: T.Buffer((16,), "float32")):
            for i in range(4):
                for j in T.serial(i, 4):
                    with T.sblock("b"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.where(i * 4 + j < 15)
                        T.reads(A[0:16], C[vi : vi + 4])
                        T.writes(C[vi : vi + 4])
                        part = T.match_buffer(C[vi : vi + 4], (4,), "float32", offset_factor=1)
                        place: T.let = vj // 2
                        if vi < vj:
                            part[place] = T.Cast("float32", A[vi]) * part[3 - place]

        assert () == decisions(by_loop)

    def test_a_value_that_is_only_stored_is_none(self) -> None:
        @T.prim_func(s_tir=True)
        def stored(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
            for i in range(16):
                twice: T.let = A[i] * 2
                C[i] = twice + T.max(A[i], 0) + T.min(C[i], twice)

        assert () == decisions(stored)

    def test_each_buffer_is_found_once(self) -> None:
        @T.prim_func(s_tir=True)
        def several(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
            if A[0] > 3:
                B[A[1]] = 1
            if B[0] > 3:
                B[1] = A[A[2]]

        assert {"A", "B"} == {each.subject for each in decisions(several)}
        assert 2 == len(decisions(several))


# --- expressions ---------------------------------------------------------------------------------


def positive(A: Any, i: Any) -> Any:
    return A[i] > ZERO


def bits(value: Any) -> Any:
    return tvm.tirx.reinterpret("float32", value)


class TestExpressions:
    @pytest.mark.parametrize(
        "value",
        [
            lambda A, B, i: te.if_then_else(B[0] == 1, A[i], ZERO),
            lambda A, B, i: te.if_then_else(tvm.tirx.isnan(A[0]), A[i], ZERO),
            lambda A, B, i: tvm.tirx.Select(B[0] == 1, A[i], ZERO),
            lambda A, B, i: tvm.tirx.Select(B[0] > 1, A[i] * A[i], ZERO),
            lambda A, B, i: tvm.tirx.Cast("float32", tvm.tirx.And(A[i] > ZERO, i < 3)),
            lambda A, B, i: tvm.tirx.Cast("float32", tvm.tirx.Or(i < 3, A[i] > ZERO)),
            lambda A, B, i: A[B[i]],
            lambda A, B, i: tvm.tirx.Shuffle([A[i], ONE], [B[i] % 2]),
            lambda A, B, i: A[tvm.tirx.Cast("int32", A[i])],
            lambda A, B, i: A[tvm.tirx.min(B[i], 15)],
            lambda A, B, i: A[tvm.tirx.Select(i < 3, B[i], 0)],
            lambda A, B, i: te.if_then_else(i < 3, A[B[0]], ZERO),
            # LLVM makes choices of these, and leaves out the loops behind what is not chosen.
            lambda A, B, i: tvm.tirx.exp(A[i]) * tvm.tirx.Cast("float32", B[i] > 3),
            lambda A, B, i: bits(tvm.tirx.Cast("int32", A[0] > ZERO) * 3),
            lambda A, B, i: bits(tvm.tirx.reinterpret("int32", A[0]) >> 31 & 3),
            lambda A, B, i: tvm.tirx.Cast("float32", tvm.tirx.isnan(A[0])),
            lambda A, B, i: tvm.tirx.pow(A[i], tvm.tirx.max(A[0], ZERO)),
            lambda A, B, i: tvm.tirx.ldexp(A[i], B[0]),
        ],
    )
    def test_choices_and_indices_by_content(self, value: Any) -> None:
        assert "content" == computed(value)[0].code

    @pytest.mark.parametrize(
        "value",
        [
            lambda A, B, i: te.if_then_else(tvm.tirx.And(i > 0, i < 15), A[i - 1], ZERO),
            lambda A, B, i: tvm.tirx.Select(i < 3, A[i], A[15 - i]),
            lambda A, B, i: tvm.tirx.max(A[i], ZERO),
            lambda A, B, i: tvm.tirx.Cast("float32", tvm.tirx.Cast("float16", A[i])),
            lambda A, B, i: A[i] * tvm.tirx.Cast("float32", i > 3),
            lambda A, B, i: tvm.tirx.pow(A[i], T.float32(2)),
            lambda A, B, i: A[(i * 5) % 16],
        ],
    )
    def test_choices_and_indices_by_loop_variables(self, value: Any) -> None:
        assert () == computed(value)

    def test_a_variable_within_an_expression_carries_content(self) -> None:
        def bound(outer: Any) -> Any:
            x = tvm.tirx.Var("x", "int32")
            y = tvm.tirx.Var("y", "int32")
            inner = tvm.tirx.Let(y, x + 1, y * 2)
            return lambda A, B, i: A[tvm.tirx.Let(x, outer(B, i), inner)]

        assert "B" == computed(bound(lambda B, i: B[i]))[0].subject
        assert () == computed(bound(lambda B, i: i // 8))

    def test_a_variable_carries_content_to_where_nothing_else_has_it(self) -> None:
        def within(value: Any) -> Any:
            x = tvm.tirx.Var("x", "int32")
            return lambda A, B, i: tvm.tirx.Let(x, value(B, i), A[x])

        assert "B" == computed(within(lambda B, i: B[i]))[0].subject
        assert () == computed(within(lambda B, i: i // 8))


class TestRectifiers:
    """A choice between a value and a literal by the value leaves no work out."""

    @pytest.mark.parametrize("choose", [te.if_then_else, tvm.tirx.Select])
    @pytest.mark.parametrize(
        "branches",
        [
            lambda x: (x > ZERO, x, ZERO),
            lambda x: (x < ZERO, ZERO, x),
            lambda x: (ZERO <= x, x, ZERO),
            lambda x: (x >= ZERO, x, x * T.float32(0.1)),
        ],
    )
    def test_a_rectifier_is_no_decision(self, choose: Any, branches: Any) -> None:
        assert () == computed(lambda A, B, i: choose(*branches(A[i] * T.float32(2))))

    @pytest.mark.parametrize("choose", [te.if_then_else, tvm.tirx.Select])
    def test_its_value_may_be_written_twice(self, choose: Any) -> None:
        def twice(A: Any, _: Any, i: Any) -> Any:
            return choose(A[i] * T.float32(2) > ZERO, A[i] * T.float32(2), ZERO)

        assert () == computed(twice)

    @pytest.mark.parametrize(
        "branches",
        [
            lambda A, i: (A[i] > ZERO, A[i + 1], ZERO),
            lambda A, i: (A[i + 1] > ZERO, A[i + 2], ZERO),
            lambda A, i: (A[i] > ZERO, A[i] * A[i], ZERO),
            lambda A, i: (A[i] > A[0], A[i], ZERO),
            lambda A, i: (A[0] > A[i], A[i], ZERO),
            lambda A, i: (A[0] < A[i], A[i], ZERO),
            lambda A, i: (A[i] < A[0], A[i], ZERO),
            lambda A, i: (A[i] * T.float32(2) > ZERO, A[i] * T.float32(3), ZERO),
            lambda A, i: (tvm.tirx.Cast("float16", A[i]) > T.float16(0), ONE, A[i]),
            lambda A, i: (A[i] == ZERO, ZERO, A[i]),
            # A product with nan is nan, whatever the other factor is.
            lambda A, i: (A[i] > ZERO, ONE, ZERO),
            lambda A, i: (A[i] > ZERO, ONE, T.float32(float("nan"))),
            lambda A, i: (A[i] > ZERO, A[i], T.float32(float("nan"))),
            lambda A, i: (A[i] > ZERO, A[i], T.float32(float("inf"))),
            lambda A, i: (A[i] > ZERO, A[i], A[i] * T.float32(float("nan"))),
        ],
    )
    def test_any_other_choice_is_one(self, branches: Any) -> None:
        assert "A" == computed(lambda A, B, i: tvm.tirx.Select(*branches(A, i)))[0].subject


class TestModules:
    def test_nothing_in_a_convolution_however_scheduled(self, honest: dict[str, bytes]) -> None:
        names = [name for name in honest if name.startswith(("conv", "product", "padding"))]
        assert len(names) >= 20
        for name in names:
            functions = read_module(honest[name], ("env.*",)).functions
            assert dict.fromkeys(functions, ()) == {
                each: facts.decisions for each, facts in functions.items()
            }

    def test_a_lookup_is_no_reason_to_refuse_a_module(self, honest: dict[str, bytes]) -> None:
        facts = read_module(honest["topi take"])
        assert () == facts.findings
        assert {"content"} == {each.code for each in facts.functions["take"].decisions}

    def test_the_work_is_bounded(self, honest: dict[str, bytes]) -> None:
        graph = decode_graph(honest["conv scheduled"])
        functions = dict(graph.pairs(graph.field(graph.root, "functions")))
        (function,) = (
            each for key, each in functions.items() if graph.name(key, "name_hint") == "conv2d"
        )
        assert () == find_decisions(graph, "conv2d", function, Budget())
        with pytest.raises(IRError):
            find_decisions(graph, "conv2d", function, Budget(100))


# --- integers ------------------------------------------------------------------------------------

WIDE = "int32"


def wide(value: Any) -> Any:
    return tvm.tirx.Cast(WIDE, value)


def wider(value: Any) -> Any:
    return tvm.tirx.Cast("int16", value)


class TestIntegers:
    """LLVM makes a choice of a product with a number of which it knows that it is one of two."""

    @staticmethod
    def of(value: Any) -> Any:
        a, b = te.placeholder((16,), "int8", name="A"), te.placeholder((16,), WIDE, name="B")
        c = te.compute((16,), lambda i: value(a, b, i), name="C")
        return te.create_prim_func([a, b, c])

    @pytest.mark.parametrize(
        "value",
        [
            lambda A, B, i: wide(A[i]) * wide(A[15 - i]) + B[i],
            lambda A, B, i: B[i] * B[0] - wide(A[i]),
            lambda A, B, i: tvm.tirx.max(B[i] + wide(A[i]), 0),
            lambda A, B, i: wide(wider(A[i]) * wider(A[15 - i])) + B[i],
        ],
    )
    def test_sums_of_products_of_inputs_are_none(self, value: Any) -> None:
        assert () == decisions(self.of(value))

    @pytest.mark.parametrize(
        "value",
        [
            lambda A, B, i: (B[0] & 1) * B[i],
            lambda A, B, i: (B[0] >> 31) * B[i],
            lambda A, B, i: (B[0] // 2) * B[i],
            lambda A, B, i: tvm.tirx.min(tvm.tirx.max(B[0], 0), 1) + B[i],
            lambda A, B, i: tvm.tirx.max(B[0], 0) * B[i],
            lambda A, B, i: wide(A[i] * A[0]),
            lambda A, B, i: wide(wider(A[i]) * wider(A[0])) * B[i],
            lambda A, B, i: wide(wider(wider(A[i]) * wider(A[0])) * wider(A[1])),
            lambda A, B, i: wide(wider(A[i]) * T.int16(300)),
            lambda A, B, i: wide(A[0] + A[i]) * B[i],
            lambda A, B, i: wide(A[0] > 3) * B[i],
            lambda A, B, i: tvm.tirx.q_multiply_shift(B[0], B[1], 31, 0) + B[i],
        ],
    )
    def test_what_leaves_one_of_two_numbers_is_one(self, value: Any) -> None:
        assert decisions(self.of(value))

    def test_arithmetic_is_not_called_a_choice(self) -> None:
        """Nothing in it decides for a reader: what LLVM may make of it is told."""
        (finding,) = decisions(self.of(lambda A, B, i: wide(A[i] + A[0])))
        assert "may make a choice" in finding.message.english

    def test_a_copy_of_an_input_may_be_multiplied_and_a_result_may_not(self) -> None:
        @T.prim_func(s_tir=True)
        def copied(A: T.Buffer((16,), "int8"), C: T.Buffer((16,), "int32")):
            B = T.alloc_buffer((16,), "int32")
            for i in range(16):
                B[i] = T.Cast("int32", A[i])
            for i in range(16):
                C[i] = B[i] * B[15 - i]

        @T.prim_func(s_tir=True)
        def bounded(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
            B = T.alloc_buffer((16,), "int32")
            for i in range(16):
                B[i] = T.max(A[i], 0)
            for i in range(16):
                C[i] = B[0] * A[i]

        assert () == decisions(copied)
        assert ["B"] == [each.subject for each in decisions(bounded)]


# --- parts of buffers -----------------------------------------------------------------------------


@T.prim_func(s_tir=True)
def products_of_parts(
    A: T.Buffer((16,), "int8"), B: T.Buffer((16, 16), "int8"), C: T.Buffer((16,), "int32")
):
    for k in range(16):
        with T.sblock("C"):
            vk = T.axis.reduce(16, k)
            x = T.match_buffer(A[vk], (1,), "int8", offset_factor=1)
            y = T.match_buffer(B[vk, 0:16], (16,), "int8", offset_factor=1)
            z = T.match_buffer(C[0:16], (16,), "int32", offset_factor=1)
            z[T.ramp(0, 1, 16)] += T.broadcast(T.Cast("int32", x[0]), 16) * T.Cast(
                "int32x16", y[T.ramp(0, 1, 16)]
            )


@T.prim_func(s_tir=True)
def choice_kept_in_a_part_of_an_input(
    A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")
):
    for i in range(16):
        with T.sblock("A"):
            vi = T.axis.spatial(16, i)
            x = T.match_buffer(A[vi], (1,), "int32", offset_factor=1)
            x[0] = A[vi] - B[vi]
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[vi] * B[vi]


def test_what_an_intrinsic_multiplies_is_an_input_still() -> None:
    assert () == decisions(products_of_parts)


def test_an_input_that_is_written_by_another_name_is_one_no_more() -> None:
    assert decisions(choice_kept_in_a_part_of_an_input)
