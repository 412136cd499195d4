"""What surely stays inside its buffers is proven; everything else is not, with the reason."""

# ruff: noqa: N803, N806

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import tvm
import tvm_ffi
from hypothesis import HealthCheck, given, settings
from tvm import te, tirx
from tvm.script import tirx as T  # noqa: N812

from grader.ir.expressions import Budget
from grader.ir.facts import FunctionFacts
from grader.ir.graph import decode_graph
from grader.ir.read import read_module
from grader.ir.safety import find_safety
from tests.ir.documents import Document
from tests.ir.interpreter import Interpreter, TooLongError, WildError
from tests.ir.modules import save
from tests.ir.programs import programs

NOT_PROVEN = {
    "symbolic te": "size",  # a buffer as large as an array that is not known
    "script relax": "size",
    "topi adaptive_pool": "iterator",  # how long a window is, a Select says
    "topi take": "index",  # by contents
    "topi resize": "conversion",  # by floats
}
"""Honest modules that run under guard, and why."""


def facts(function: Any) -> FunctionFacts:
    """Return what is read of a function that is called `f`."""
    module = tvm.IRModule({"f": function.with_attr("global_symbol", "f")})
    return read_module(save(module)).functions["f"]


def reason(function: Any) -> str:
    """Return why a function is not proven, empty where it is; it can be guarded."""
    found = facts(function)
    assert found.unguarded is None, found.unguarded
    return "" if found.unproven is None else found.unproven.code.removeprefix("unproven-")


def refusal(function: Any) -> str:
    """Return why a function can not be guarded either."""
    found = facts(function)
    assert found.unguarded is not None
    assert found.unproven is not None
    return found.unguarded.code.removeprefix("unguarded-")


def index(value: Callable[[Any, Any], Any], size: int = 16, extent: int = 16) -> str:
    """Return why B[i, j] = A[value(i, j)] is not proven, where B is `extent` by `extent`."""
    A = te.placeholder((size,), "float32", "A")
    B = te.compute((extent, extent), lambda i, j: A[value(i, j)], "B")
    return reason(te.create_prim_func([A, B]))


class TestHonestModules:
    def test_all_but_a_few_are_proven_and_none_is_refused(self, honest: dict[str, bytes]) -> None:
        found = {}
        for name, document in honest.items():
            for function in read_module(document, ("env.*",)).functions.values():
                assert function.unguarded is None, function.unguarded
                if function.unproven is not None:
                    found[name] = function.unproven.code.removeprefix("unproven-")
        assert NOT_PROVEN == found


class TestIndices:
    @pytest.mark.parametrize(
        "value",
        [
            lambda i, j: (i * 16 + j) // 16,
            lambda i, j: (i * 16 + j) % 16,
            lambda i, j: (i * 16 + j) // 8 % 16 // 2 * 2 + i % 2,
            lambda i, _: tvm.tirx.truncmod(i * 7, 16),
            lambda i, _: tvm.tirx.truncdiv(i, 3),
            lambda i, j: tvm.tirx.min(i + j, 15),
            lambda i, j: tvm.tirx.max(i - j, 0),
            lambda i, _: i & 7,
            lambda i, _: i >> 1,
            lambda i, _: (i << 1) // 2,
            lambda i, j: tvm.tirx.if_then_else(i + j < 16, i + j, 0),
            lambda i, j: tvm.tirx.if_then_else(tvm.tirx.all(i >= 3, j < 3), i - j, 5),
            lambda i, _: tvm.tirx.Cast("int32", tvm.tirx.Cast("int8", i)),
            lambda i, _: tvm.tirx.Cast("int32", i < 3) * 7,
            lambda i, j: tvm.tirx.Select(i < j, i, j),
        ],
    )
    def test_what_stays_within_is_proven(self, value: Any) -> None:
        assert "" == index(value)

    @pytest.mark.parametrize(
        ("value", "why"),
        [
            # The index that found the caller's arguments on the stack: it is b - 1, and unknown.
            (lambda i, _: 2 + i * i // (i + 1), "index"),
            (lambda i, j: i * j % 17, "index"),
            (lambda i, j: tvm.tirx.Select(i + j < 16, i + j, 0) + i, "index"),
            (lambda i, j: tvm.tirx.if_then_else(i + j < 17, i + j, 0), "index"),
            (lambda i, _: tvm.tirx.truncmod(i - 5, 16), "index"),
            (lambda i, _: tvm.tirx.truncdiv(i - 20, 3) + 3, "index"),
            (lambda i, j: 3 // (i - j), "division"),
            (lambda i, _: tvm.tirx.max(tvm.tirx.min((i + 1) * 2**28, 15), 0), "overflow"),
            (lambda i, _: tvm.tirx.Cast("int32", tvm.tirx.Cast("int8", i * 20)) % 16, "overflow"),
            (lambda i, _: tvm.tirx.max(tvm.tirx.min(i << 28, 15), 0), "overflow"),
            (lambda i, _: 1 >> (i * 3), "overflow"),
            (lambda i, _: tvm.tirx.Cast("int32", tvm.tirx.Cast("float32", i)), "conversion"),
        ],
    )
    def test_what_may_leave_or_overflow_is_not(self, value: Any, why: str) -> None:
        assert why == index(value)

    def test_all_parts_of_a_condition_are_computed(self) -> None:
        """`i != 0 and 7 // i` divides where `i` is 0."""
        value = lambda i, _: tvm.tirx.if_then_else(tvm.tirx.And(i != 0, 7 // i > 2), i, 0)  # noqa: E731
        assert "division" == index(value)

    def test_both_sides_of_a_select_are_loaded(self) -> None:
        A = te.placeholder((8,), "float32", "A")
        B = te.compute((16,), lambda i: tvm.tirx.Select(i < 8, A[i], T.float32(0)), "B")
        assert "index" == reason(te.create_prim_func([A, B]))

    def test_what_was_loaded_may_be_anything_later(self) -> None:
        @T.prim_func(s_tir=True)
        def twice(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
            if A[0] >= 0 and A[0] < 16:
                A[0] = 1000
                B[A[0]] = 1

        assert "index" == reason(twice)

    def test_a_clamped_load_is_proven_and_still_a_decision(self) -> None:
        @T.prim_func(s_tir=True)
        def clamped(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
            for i in range(16):
                B[T.min(T.max(A[i], 0), 15)] = i

        assert "" == reason(clamped)
        assert facts(clamped).decisions


class TestRelations:
    """Between numbers that intervals alone would take for independent."""

    def test_a_predicate_bounds_a_sum(self) -> None:
        @T.prim_func(s_tir=True)
        def uneven(A: T.Buffer((100,), "float32")):
            for i, j in T.grid(13, 8):
                with T.sblock("b"):
                    T.where(i * 8 + j < 100)
                    v = T.axis.spatial(100, i * 8 + j)
                    A[v] = T.float32(0)

        assert "" == reason(uneven)

    def test_a_predicate_that_is_one_too_large_does_not(self) -> None:
        @T.prim_func(s_tir=True)
        def uneven(A: T.Buffer((100,), "float32")):
            for i, j in T.grid(13, 8):
                with T.sblock("b"):
                    T.where(i * 8 + j < 101)
                    v = T.axis.spatial(101, i * 8 + j)
                    A[v] = T.float32(0)

        assert "index" == reason(uneven)

    def test_the_extent_of_a_last_tile(self) -> None:
        @T.prim_func(s_tir=True)
        def tiles(A: T.Buffer((26,), "float32")):
            for i in range(4):
                for j in range(T.min(26 - i * 8, 8)):
                    A[i * 8 + j] = T.float32(0)

        assert "" == reason(tiles)

    def test_a_padded_layout_is_proven_case_by_case(self) -> None:
        @T.prim_func(s_tir=True)
        def padded(A: T.Buffer((128,), "float32"), B: T.Buffer((26, 5), "float32")):
            for i, j in T.grid(26, 5):
                B[i, j] = T.if_then_else(i == 25 and 3 <= j, T.float32(0), A[i * 5 + j])

        assert "" == reason(padded)

    def test_symbolic_extents(self) -> None:
        @T.prim_func(s_tir=True)
        def symbolic(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n, 8), "float32")
            B = T.match_buffer(b, (n, 8), "float32")
            for i, j in T.grid(n, 8):
                B[n - 1 - i, j] = A[i, 7 - j]

        assert "" == reason(symbolic)

    def test_one_beyond_a_symbolic_extent(self) -> None:
        @T.prim_func(s_tir=True)
        def symbolic(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i in range(n):
                B[n - i] = A[i]

        assert "index" == reason(symbolic)

    def test_an_iterator_outside_of_its_range(self) -> None:
        @T.prim_func(s_tir=True)
        def lying(A: T.Buffer((100,), "float32")):
            for i in range(100):
                with T.sblock("b"):
                    v = T.axis.spatial(8, i)
                    A[v] = T.float32(0)

        assert "iterator" == reason(lying)


class TestParts:
    def test_a_part_of_a_buffer_within_it(self) -> None:
        @T.prim_func(s_tir=True)
        def part(A: T.Buffer((16, 16), "float32")):
            for i in range(4):
                with T.sblock("b"):
                    v = T.axis.spatial(4, i)
                    P = T.match_buffer(A[v, v * 4 : v * 4 + 4], (4,), "float32", offset_factor=1)
                    for j in range(4):
                        P[j] = T.float32(0)

        assert "" == reason(part)

    def test_a_part_that_reaches_beyond(self) -> None:
        @T.prim_func(s_tir=True)
        def part(A: T.Buffer((16,), "float32")):
            for i in range(4):
                with T.sblock("b"):
                    v = T.axis.spatial(4, i)
                    P = T.match_buffer(A[v * 5 : v * 5 + 4], (4,), "float32", offset_factor=1)
                    for j in range(4):
                        P[j] = T.float32(0)

        assert "part" == reason(part)

    def test_a_buffer_that_is_larger_than_its_part(self) -> None:
        @T.prim_func(s_tir=True)
        def part(A: T.Buffer((16,), "float32")):
            with T.sblock("b"):
                P = T.match_buffer(A[0:4], (4,), "float32", offset_factor=1)
                P[3] = T.float32(0)

        document = Document(save(tvm.IRModule({"f": part.with_attr("global_symbol", "f")})))
        match = document.first("s_tir.MatchBufferRegion")
        shape = document.nodes[document.nodes[match["buffer"]]["data"]["ty"]]["data"]["shape"]
        whole = document.nodes[
            document.nodes[
                document.nodes[document.nodes[match["source"]]["data"]["source"]]["data"]["ty"]
            ]["data"]["shape"]
        ]
        document.nodes[shape]["data"] = whole["data"]
        found = read_module(document.encode()).functions["f"]
        assert found.unproven is not None
        assert "unproven-part" == found.unproven.code


# --- what a guard might not see ------------------------------------------------------------------


@T.prim_func(s_tir=True)
def strides(A: T.Buffer((4, 4), "float32")):
    B = T.sblock_alloc_buffer((4, 4), "float32", strides=[1, 100])
    for i, j in T.grid(4, 4):
        B[i, j] = A[i, j]
        A[i, j] = B[j, i]


@T.prim_func(s_tir=True)
def offset(A: T.Buffer((4,), "float32")):
    B = T.sblock_alloc_buffer((4,), "float32", elem_offset=100)
    for i in range(4):
        B[i] = A[i]
        A[i] = B[3 - i]


@T.prim_func(s_tir=True)
def believed(A: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((1000,), "float32")
    for i in range(16):
        with T.sblock("write"):
            v = T.axis.spatial(16, i)
            B[v] = A[v]
    for i in range(16):
        with T.sblock("read"):
            v = T.axis.spatial(16, i)
            T.reads(B[0:2])
            T.writes(A[v])
            T.sblock_attr({"explicit_read_region": [0]})
            A[v] = B[v + 500]


@T.prim_func(s_tir=True)
def overlapping(A: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.sblock("write"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.sblock_attr({"buffer_dim_align": [[0, 0, -16, 1]]})
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(16, 16):
        with T.sblock("read"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = B[vj, vi]


@T.prim_func(s_tir=True)
def too_large(A: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((65536, 16385), "float32")
    for i in range(16):
        B[i * 4096, i] = A[i]
        A[i] = B[i, 0]


@T.prim_func(s_tir=True)
def deep_stack(A: T.Buffer((16,), "float32")):
    for i in T.unroll(8192):
        with T.sblock("b"):
            v = T.axis.spatial(8192, i)
            B = T.sblock_alloc_buffer((255,), "float32")
            B[v % 255] = A[v % 16]
            A[v % 16] = B[v % 255]


@T.prim_func(s_tir=True)
def assumed(A: T.Buffer((16,), "float32")):
    for i in range(64):
        T.evaluate(T.assume(i < 16))
        A[i % 16] = T.float32(0)


REFUSED = {
    "strides": (strides, "layout"),
    "offset": (offset, "layout"),
    "believed": (believed, "annotation"),
    "overlapping": (overlapping, "annotation"),
    "too_large": (too_large, "large"),
    "assumed": (assumed, "undefined"),
}


class TestRefused:
    @pytest.mark.parametrize("name", REFUSED)
    def test_what_no_index_shows(self, name: str) -> None:
        function, code = REFUSED[name]
        assert code == refusal(function)

    @pytest.mark.parametrize(
        ("dtype", "found"),
        [
            ("bfloat16", "unguarded-large"),
            ("float8_e4m3fn", "unguarded-large"),
            ("float16", None),
            ("int8", None),
        ],
    )
    def test_what_tvm_stores_as_wider_numbers_counts_as_those(
        self, dtype: str, found: str | None
    ) -> None:
        @T.prim_func(s_tir=True)
        def widened(A: T.Buffer((16,), "float32")):
            B = T.sblock_alloc_buffer((2**28,), dtype)
            for i in range(16):
                B[i * 16777216] = T.Cast(dtype, A[i])
                A[i] = T.Cast("float32", B[i * 16777216])

        refused = facts(widened).unguarded
        assert found == (None if refused is None else refused.code)

    def test_a_load_of_more_lanes_than_its_index_has(self) -> None:
        @T.prim_func(s_tir=True)
        def vector(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
            B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)]

        document = Document(save(tvm.IRModule({"f": vector.with_attr("global_symbol", "f")})))
        scalar = next(
            node
            for node in document.nodes
            if node["type"] == "ir.IntImm"
            and document.nodes[node["data"]["value"]].get("data") == 0
        )
        load = document.nodes[document.first("ir.TensorLoad")["indices"]]
        load["data"] = [document.nodes.index(scalar)]
        found = read_module(document.encode()).functions["f"]
        assert found.unguarded is not None
        assert ("unguarded-types", "TensorLoad") == (found.unguarded.code, found.unguarded.subject)

    def test_a_buffer_that_is_used_after_its_scope(self) -> None:
        @T.prim_func(s_tir=True)
        def two(A: T.Buffer((16,), "float32")):
            with T.sblock("first"):
                B = T.sblock_alloc_buffer((512,), "float32")
                for i in range(16):
                    B[i] = A[i]
            with T.sblock("second"):
                C = T.sblock_alloc_buffer((512,), "float32")
                for i in range(16):
                    C[i] = A[i]

        document = Document(save(tvm.IRModule({"f": two.with_attr("global_symbol", "f")})))
        first, second = document.indices("tirx.BufferStore")
        document.nodes[second]["data"]["buffer"] = document.nodes[first]["data"]["buffer"]
        found = read_module(document.encode()).functions["f"]
        assert found.unguarded is not None
        assert ("unguarded-scope", "B") == (found.unguarded.code, found.unguarded.subject)

    def test_a_function_that_is_too_long_to_be_looked_through(self, product: bytes) -> None:
        graph = decode_graph(product)
        function = next(i for i, kind in enumerate(graph.types) if kind == "tirx.PrimFunc")
        found = find_safety(graph, "f", function, Budget(100))
        assert found.unproven is not None
        assert found.unguarded is not None
        assert "unguarded-length" == found.unguarded.code

    def test_the_message_names_function_and_buffer(self) -> None:
        found = facts(strides).unguarded
        assert found is not None
        expected = "In the function `f`, the buffer `B` has custom strides, an offset or a layout."
        assert expected == found.message.english


class TestStack:
    def test_more_small_buffers_than_a_stack_holds_are_not_proven(self) -> None:
        assert "stack" == reason(deep_stack)


def copied_by_vectors(lanes: int) -> Any:
    """Return a function that copies by way of a buffer of vectors."""

    @T.prim_func(s_tir=True)
    def function(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        local = T.sblock_alloc_buffer((1000, lanes), "float32")
        for i in range(1000):
            for lane in T.vectorized(lanes):
                local[i, lane] = A[lane]
        for lane in T.vectorized(lanes):
            B[lane] = local[7, lane]

    return function


class TestVectors:
    """TVM makes vectors of a buffer. Our builds have room for those of an odd length."""

    @pytest.mark.parametrize("lanes", [1, 4, 16, 3, 13])
    def test_a_buffer_of_vectors_is_proven(self, lanes: int) -> None:
        assert "" == reason(copied_by_vectors(lanes))


class TestDeclaredRegions:
    def test_a_region_that_holds_all_that_is_loaded_is_believed(self) -> None:
        @T.prim_func(s_tir=True)
        def reindexed(A: T.Buffer((16,), "float32")):
            B = T.sblock_alloc_buffer((16,), "float32")
            for i in range(16):
                with T.sblock("write"):
                    v = T.axis.spatial(16, i)
                    B[v] = A[v]
            for i in range(4):
                with T.sblock("read"):
                    v = T.axis.spatial(4, i)
                    T.reads(B[v * 4 : v * 4 + 4])
                    T.writes(A[v * 4 : v * 4 + 4])
                    T.sblock_attr({"explicit_read_region": [0]})
                    for j in range(4):
                        A[v * 4 + j] = B[v * 4 + 3 - j]

        assert "" == reason(reindexed)


class TestSoundness:
    @settings(
        max_examples=150, deadline=None, suppress_health_check=[*HealthCheck], derandomize=True
    )
    @given(programs())
    def test_no_program_that_is_proven_does_what_it_must_not(self, module: Any) -> None:
        graph = decode_graph(save(module))
        ((_, function),) = graph.pairs(graph.field(graph.root, "functions"))
        safety = find_safety(graph, "f", function, Budget(300_000))
        content = random.Random(1)
        try:
            Interpreter(graph, lambda: content.choice([0, 1, 5, 100])).run(function)
        except TooLongError:
            return
        except WildError as wild:
            assert safety.unproven is not None, f"{wild} in {module}"

    def test_the_interpreter_sees_what_is_wild(self) -> None:
        @T.prim_func(s_tir=True)
        def wild(A: T.Buffer((16,), "float32")):
            for i in range(1, 19):
                A[i * i // (i + 1)] = T.float32(0)

        graph = decode_graph(save(tvm.IRModule({"f": wild.with_attr("global_symbol", "f")})))
        ((_, function),) = graph.pairs(graph.field(graph.root, "functions"))
        with pytest.raises(WildError, match=r"A\[\[16\]\] of \[16\]"):
            Interpreter(graph, lambda: 0).run(function)


# --- attacks on the proof ------------------------------------------------------------------------


@T.prim_func(s_tir=True)
def leading_zeros_of_none(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[T.min(T.max(T.clz(i * 0), 0), 15)] = T.float32(1)


@T.prim_func(s_tir=True)
def shifted_out(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[T.min(T.max(T.q_multiply_shift(i, 3, 31, 200), 0), 15)] = T.float32(1)


@T.prim_func(s_tir=True)
def multiplied_and_added(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[T.min(T.max(T.fma(i * 2**20, i * 2**20, 7), 0), 15)] = T.float32(1)


@T.prim_func(s_tir=True)
def decided_by_poison(A: T.Buffer((16,), "float32")):
    for i in range(16):
        if T.clz(i * 0) > 3:
            A[i] = T.float32(1)


@T.prim_func(s_tir=True)
def narrow_extent(a: T.handle, b: T.handle):
    n = T.int8()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (128,), "float32")
    B[127 - T.Cast("int32", n)] = T.float32(1)
    A[0] = T.float32(1)


@T.prim_func(s_tir=True)
def forwards(A: T.Buffer((16,), "float32")):
    for _ in range(2):
        for i in range(16):
            A[i] = T.float32(1)


def backwards() -> Any:
    """Return a function whose inner loop has the steps -2 and -1, and as negative extents."""
    outer = forwards.body.loop_var

    def turned(loop: Any) -> Any:
        if loop.loop_var.same_as(outer):
            return loop
        return tirx.For(
            loop.loop_var, 0, outer - 18, loop.kind, loop.body, None, {}, step=outer - 2
        )

    return tvm_ffi.structural_map(forwards, (tirx.For, turned))


@T.prim_func(s_tir=True)
def after_a_contradiction(A: T.Buffer((16,), "float32")):
    for i in range(16):
        if i > 20:
            A[i * 100] = T.float32(0)
        A[i + 1] = T.float32(0)


@T.prim_func(s_tir=True)
def part_of_a_part(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("b"):
            P = T.match_buffer(A[0:16], (16,), "float32", offset_factor=1)
            Q = T.match_buffer(P[4:12], (8,), "float32", offset_factor=1)
            Q[i] = T.float32(0)


@T.prim_func(s_tir=True)
def below_zero_without_a_sign(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[T.Cast("int32", (T.Cast("uint32", i) - T.uint32(3)) % T.uint32(16))] = T.float32(0)


@T.prim_func(s_tir=True)
def either_of_two(A: T.Buffer((16,), "float32")):
    for i, j in T.grid(32, 32):
        if i < 16 or j < 16:
            A[i] = T.float32(0)


@T.prim_func(s_tir=True)
def not_both(A: T.Buffer((16,), "float32")):
    for i, j in T.grid(32, 32):
        if not (i < 16 and j < 16):
            A[31 - i] = T.float32(0)


@T.prim_func(s_tir=True)
def masked_by_a_negative(A: T.Buffer((16,), "float32")):
    for i in range(64):
        A[(i - 32) & (i - 40)] = T.float32(0)


@T.prim_func(s_tir=True)
def two_truths(A: T.Buffer((2,), "float32")):
    for i in range(64):
        A[T.Cast("int32", i < 3) + T.Cast("int32", i < 5)] = T.float32(0)


@T.prim_func(s_tir=True)
def end_of_a_vector(A: T.Buffer((16,), "float32")):
    for i in range(4):
        for j in T.vectorized(8):
            A[i * 4 + j] = T.float32(0)


@T.prim_func(s_tir=True)
def stale_load(A: T.Buffer((16,), "float32")):
    place = T.alloc_buffer((1,), "int32")
    for i in range(16):
        place[0] = i
        if place[0] < 16:
            place[0] = 99
            A[place[0]] = T.float32(0)


@T.prim_func(s_tir=True)
def named_and_halved(A: T.Buffer((16,), "float32")):
    for i in range(16):
        twice: T.let[T.int32] = i * 2
        A[twice // 2] = T.float32(0)
        A[twice] = T.float32(0)


class TestAttacks:
    """Tried with the source at hand."""

    @pytest.mark.parametrize(
        "function",
        [leading_zeros_of_none, shifted_out, multiplied_and_added, decided_by_poison],
        ids=lambda each: str(each.attrs["global_symbol"]),
    )
    def test_what_llvm_may_take_for_anything_is_not_proven(self, function: Any) -> None:
        """An index that is poison is no number between 0 and 15, however it is clamped."""
        assert "conversion" == reason(function)

    def test_an_extent_that_is_cut_off_may_be_negative(self) -> None:
        assert "index" == reason(narrow_extent)

    def test_loops_that_run_backwards_are_not_proven(self) -> None:
        assert "iterator" == reason(backwards())

    @pytest.mark.parametrize(
        "function",
        [
            after_a_contradiction,
            part_of_a_part,
            either_of_two,
            not_both,
            masked_by_a_negative,
            two_truths,
            end_of_a_vector,
            stale_load,
            named_and_halved,
        ],
        ids=lambda each: str(each.attrs["global_symbol"]),
    )
    def test_what_is_known_elsewhere_is_not_known_here(self, function: Any) -> None:
        assert "index" == reason(function)

    def test_a_number_without_a_sign_is_not_below_zero(self) -> None:
        assert "overflow" == reason(below_zero_without_a_sign)

    def test_a_part_has_items_of_the_same_type(self) -> None:
        @T.prim_func(s_tir=True)
        def part(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float64")):
            with T.sblock("b"):
                P = T.match_buffer(A[0:16], (16,), "float32", offset_factor=1)
                P[15] = T.float32(0)
                B[0] = T.float64(0)

        document = Document(save(tvm.IRModule({"f": part.with_attr("global_symbol", "f")})))
        parameters = document.nodes[document.first("tirx.PrimFunc")["params"]]["data"]
        match = document.first("s_tir.MatchBufferRegion")
        document.nodes[match["source"]]["data"]["source"] = parameters[1]
        found = read_module(document.encode()).functions["f"]
        assert found.unguarded is not None
        assert "unguarded-types" == found.unguarded.code
