"""What no guard sees is found in a function, with the reason; nothing honest has any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import tirx
from tvm.script import tirx as T  # noqa: N812

from grader.ir.expressions import Budget
from grader.ir.facts import FunctionFacts
from grader.ir.graph import decode_graph
from grader.ir.read import read_module
from grader.ir.unguarded import find_unguarded
from tests.ir.documents import Document
from tests.ir.modules import save

# ruff: noqa: N803, N806


def document_of(function: Any) -> Document:
    """Return a module of a function that is called `f`, as text that can be changed."""
    return Document(save(tvm.IRModule({"f": function.with_attr("global_symbol", "f")})))


def facts(function: Any) -> FunctionFacts:
    """Return what is read of a function that is called `f`."""
    return read_module(document_of(function).encode()).functions["f"]


def refusal(function: Any) -> tuple[str, str]:
    """Return why a function can not be guarded, and what of; twice nothing where it can."""
    found = facts(function).unguarded
    return ("", "") if found is None else (found.code.removeprefix("unguarded-"), found.subject)


def test_no_honest_module_is_refused(honest: dict[str, bytes]) -> None:
    for name, document in honest.items():
        for function in read_module(document, ("env.*",)).functions.values():
            assert function.unguarded is None, f"{name}: {function.unguarded}"


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
    for i in range(16):
        with T.sblock("write"):
            v = T.axis.spatial(16, i)
            T.reads()
            T.writes(A[v])
            T.sblock_attr({"explicit_write_region": [0]})
            A[v] = T.float32(0)


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
        assert code == refusal(function)[0]

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

        document = document_of(vector)
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

        document = document_of(two)
        first, second = document.indices("tirx.BufferStore")
        document.nodes[second]["data"]["buffer"] = document.nodes[first]["data"]["buffer"]
        found = read_module(document.encode()).functions["f"]
        assert found.unguarded is not None
        assert ("unguarded-scope", "B") == (found.unguarded.code, found.unguarded.subject)

    def test_a_function_that_is_too_long_to_be_looked_through(self, product: bytes) -> None:
        graph = decode_graph(product)
        function = next(i for i, kind in enumerate(graph.types) if kind == "tirx.PrimFunc")
        found = find_unguarded(graph, "f", function, Budget(100))
        assert found is not None
        assert "unguarded-length" == found.code

    def test_the_message_names_function_and_buffer(self) -> None:
        found = facts(strides).unguarded
        assert found is not None
        expected = "In the function `f`, the buffer `B` has custom strides, an offset or a layout."
        assert expected == found.message.english

    def test_a_part_has_items_of_the_same_type(self) -> None:
        @T.prim_func(s_tir=True)
        def part(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float64")):
            with T.sblock("b"):
                P = T.match_buffer(A[0:16], (16,), "float32", offset_factor=1)
                P[15] = T.float32(0)
                B[0] = T.float64(0)

        document = document_of(part)
        parameters = document.nodes[document.first("tirx.PrimFunc")["params"]]["data"]
        match = document.first("s_tir.MatchBufferRegion")
        document.nodes[match["source"]]["data"]["source"] = parameters[1]
        found = read_module(document.encode()).functions["f"]
        assert found.unguarded is not None
        assert "unguarded-types" == found.unguarded.code


class TestScopes:
    def test_a_variable_that_is_used_outside_of_its_loop(self) -> None:
        @T.prim_func(s_tir=True)
        def two(A: T.Buffer((16,), "float32")):
            for i in range(16):
                A[i] = T.float32(0)
            for j in range(16):
                A[j] = T.float32(1)

        first, second = self.swapped(two, "tirx.BufferStore", "indices")
        assert ("scope", "i") == (first, second)

    def test_a_loop_by_the_variable_of_the_one_around_it(self) -> None:
        @T.prim_func(s_tir=True)
        def nested(A: T.Buffer((16, 16), "float32")):
            for i in range(16):
                for j in range(16):
                    A[i, j] = T.float32(0)

        assert ("scope", "j") == self.swapped(nested, "tirx.For", "loop_var")

    def test_a_name_that_is_given_within_an_expression_ends_with_it(self) -> None:
        x = tirx.Var("x", "float32")
        function = stores(lambda load: (tirx.Let(x, load, x + x), x))
        assert ("scope", "x") == refusal(function)
        assert ("", "") == refusal(stores(lambda load: (tirx.Let(x, load, x + x), load)))

    def test_one_name_for_two_values_within_each_other(self) -> None:
        x = tirx.Var("x", "float32")
        inner = tirx.Let(x, T.float32(1), x)
        assert ("scope", "x") == refusal(stores(lambda load: (tirx.Let(x, load, inner), load)))

    def test_too_many_scopes_within_each_other(self) -> None:
        assert ("", "") == refusal(nested(50))
        assert ("length", "") == refusal(nested(70))

    def test_too_many_names_for_values_of_one_another(self) -> None:
        """Without a limit the referee itself ended: there may be a thousand."""
        assert ("length", "") == refusal(stores(lambda load: (named(load, 900), load)))

    def test_too_many_rows_within_each_other(self) -> None:
        document = document_of(nested(2))
        body = next(document.indices("tirx.For"))
        place, span = body + 1, document.nodes[body]["data"]["span"]
        rows: list[dict[str, Any]] = []
        for row in range(480):
            inner = body if row == 0 else place + 2 * row - 1
            rows.append({"type": "ffi.Array", "data": [inner]})
            data = {"span": span, "seq": place + 2 * row}
            rows.append({"type": "tirx.SeqStmt", "data": data})
        document.insert(place, rows)
        document.last("tirx.For")["body"] = place + len(rows) - 1
        found = read_module(document.encode()).functions["f"].unguarded
        assert found is not None
        assert "unguarded-length" == found.code

    @staticmethod
    def swapped(function: Any, kind: str, field: str) -> tuple[str, str]:
        """Return why a function is refused if two nodes of a kind have the first one's field."""
        document = document_of(function)
        one, other = document.indices(kind)
        document.nodes[other]["data"][field] = document.nodes[one]["data"][field]
        found = read_module(document.encode()).functions["f"].unguarded
        assert found is not None
        return found.code.removeprefix("unguarded-"), found.subject


def stores(values: Callable[[Any], tuple[Any, Any]]) -> Any:
    """Return a function that stores two values, one after the other, made of an item."""
    A = tirx.decl_buffer((16,), "float32", "A")
    load = tirx.BufferLoad(A, [tirx.IntImm("int32", 0)])
    places = (tirx.IntImm("int32", each) for each in (1, 2))
    made = [tirx.BufferStore(A, each, [at]) for each, at in zip(values(load), places, strict=True)]
    return tirx.PrimFunc([A], tirx.SeqStmt(made)).with_attr("s_tir", True)


def named(value: Any, names: int) -> Any:
    """Return an expression that names a value so often, each time by the name before."""
    for _ in range(names):
        x = tirx.Var("x", "float32")
        value = tirx.Let(x, value, x)
    return value


def nested(loops: int) -> Any:
    """Return a function of so many loops within each other."""
    A = tirx.decl_buffer((16,), "float32", "A")
    zero, one = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)
    body: Any = tirx.BufferStore(A, tirx.FloatImm("float32", 0), [zero])
    for _ in range(loops):
        body = tirx.For(tirx.Var("i", "int32"), zero, one, tirx.ForKind.SERIAL, body)
    return tirx.PrimFunc([A], body).with_attr("s_tir", True)
