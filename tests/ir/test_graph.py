"""The decoder: what TVM writes passes, and nothing else does, whatever the bytes are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.errors import IRError
from grader.ir import graph as graph_module
from grader.ir.graph import DEPTH_LIMIT, NODE_LIMIT, SIZE_LIMIT, decode_graph
from grader.ir.read import read_module
from tests.ir.documents import Document, refusal
from tests.ir.modules import product_module, save, special_floats

SMALL = save(product_module())


class TestDocument:
    """The text as a whole."""

    def test_a_saved_module_has_its_root_and_as_many_nodes_as_it_had(self) -> None:
        expected = json.loads(SMALL)
        graph = decode_graph(SMALL)
        assert expected["root_index"] == graph.root
        assert [node["type"] for node in expected["nodes"]] == graph.types

    @pytest.mark.parametrize(
        "document",
        [
            b"",
            b"{}",
            b"null",
            b"[]",
            b"\xff\xfe",
            b'"\x00"',
            b'{"root_index":0,"nodes":[{"type":"None"}]}',
            b'{"root_index":-1,"nodes":[{"type":"None"}]}',
            b'{"root_index":9,"nodes":[]}',
            b'{"root_index":0,"nodes":[{"data":1}]}',
            b'{"root_index":0,"nodes":[7]}',
            b"[" * 200_000,
            b'{"root_index":0,"nodes":[{"type":"None","data":' + b"[" * 200_000,
            b'{"a":' * 200_000,
            b"9" * 10_000,
        ],
    )
    def test_text_that_is_no_module_is_refused(self, document: bytes) -> None:
        with pytest.raises(IRError):
            read_module(document)

    def test_a_tail_after_the_document_is_refused(self) -> None:
        with pytest.raises(IRError):
            read_module(SMALL + b"{}")

    def test_an_unknown_key_beside_the_nodes_is_refused(self) -> None:
        refusal(SMALL, lambda document: document.data.update(more=1))

    def test_an_unknown_key_in_a_node_is_refused(self) -> None:
        refusal(SMALL, lambda document: document.nodes[3].update(more=1))

    def test_a_key_that_is_written_twice_is_refused(self) -> None:
        """TVM's parser and the reader's need not agree on which of the two counts."""
        doubled = SMALL.replace(b'"kind":0', b'"kind":99,"kind":0', 1)
        assert SMALL != doubled
        with pytest.raises(IRError, match="twice"):
            read_module(doubled)

    @pytest.mark.parametrize(
        "first", [b'"\\u006bind":99,', b'"kind" :99,', b'"kin\\u0064":99,', b'"kind"\n\t:99,']
    )
    def test_a_key_that_is_written_twice_in_different_ways_is_refused(self, first: bytes) -> None:
        doubled = SMALL.replace(b'"kind":0', first + b'"kind":0', 1)
        assert SMALL != doubled
        with pytest.raises(IRError, match="twice"):
            read_module(doubled)

    def test_a_root_that_is_no_module_is_refused(self) -> None:
        error = refusal(SMALL, lambda document: document.data.update(root_index=1))
        assert "not an IRModule" in error.message.english

    def test_an_import_of_tvm_is_not_needed(self) -> None:
        assert not hasattr(graph_module, "tvm")


class TestCaps:
    """Sizes are bounded before anything is built."""

    def test_a_text_over_the_size_limit_is_refused(self) -> None:
        with pytest.raises(IRError, match="larger than 64 MB"):
            read_module(b" " * (SIZE_LIMIT + 1))

    @pytest.mark.parametrize("filler", [b"1,", b'"",', b'\\"'])
    def test_a_text_of_very_many_values_is_refused(self, filler: bytes) -> None:
        with pytest.raises(IRError, match="too many parts"):
            read_module(b"[" + filler * 1_200_000 + b"1]")

    def test_more_nodes_than_the_limit_are_refused(self) -> None:
        nodes = [{"type": "ffi.Array", "data": []}] * (NODE_LIMIT + 1)
        document = json.dumps({"root_index": 0, "nodes": nodes}, separators=(",", ":"))
        with pytest.raises(IRError, match="too many parts"):
            read_module(document.encode())

    @pytest.mark.parametrize("length", [1100, 20_000])
    def test_a_chain_of_sums_that_overflows_tvm_is_refused(self, length: int) -> None:
        def chain(document: Document) -> None:
            store = next(document.indices("tirx.BufferStore"))
            value = document.target(store)["data"]["value"]
            scalar = document.first("ir.FloatImm")["ty"]
            links = [
                {
                    "type": "prim.Add",
                    "data": {
                        "span": 0,
                        "ty": scalar,
                        "a": value,
                        "b": store + i - 1 if i else value,
                    },
                }
                for i in range(length)
            ]
            document.insert(store, links)
            document.target(store + length)["data"]["value"] = store + length - 1

        assert f"more than {DEPTH_LIMIT} levels" in refusal(SMALL, chain).message.english

    def test_a_shared_statement_that_stands_for_a_huge_program_is_refused(self) -> None:
        """Sixty nested pairs of one statement are 2**60 statements."""

        def double(document: Document) -> None:
            loop = list(document.indices("tirx.For"))[-1]
            body = document.target(loop)["data"]["body"]
            nodes: list[dict[str, Any]] = []
            for i in range(60):
                nodes.append({"type": "ffi.Array", "data": [body, body]})
                body = loop + 2 * i + 1
                nodes.append({"type": "tirx.SeqStmt", "data": {"span": 0, "seq": body - 1}})
            document.insert(loop, nodes)
            document.target(loop + len(nodes))["data"]["body"] = body

        assert "too many parts" in refusal(SMALL, double).message.english


class TestReferences:
    """A node refers to what was written before it."""

    def test_a_cycle_is_refused(self) -> None:
        loop = next(Document(SMALL).indices("tirx.For"))
        refusal(SMALL, lambda document: document.nodes[loop]["data"].update(body=loop))

    def test_a_cycle_through_an_array_is_refused(self) -> None:
        def bend(document: Document) -> None:
            sequence = next(document.indices("tirx.SeqStmt"))
            document.target(document.target(sequence)["data"]["seq"])["data"][0] = sequence

        refusal(SMALL, bend)

    @pytest.mark.parametrize("reference", [-1, 10**6, 2**63, True, 1.0, "1", None, [1], {}])
    def test_a_reference_to_nothing_is_refused(self, reference: Any) -> None:
        refusal(SMALL, lambda document: document.first("tirx.For").update(body=reference))

    @pytest.mark.parametrize("field", ["extent", "min", "body", "loop_var", "annotations"])
    def test_null_in_a_field_that_must_hold_something_is_refused(self, field: str) -> None:
        refusal(SMALL, lambda document: document.first("tirx.For").update({field: 0}))

    def test_a_node_of_the_wrong_type_is_refused(self) -> None:
        def swap(document: Document) -> None:
            loop = document.first("tirx.For")
            loop["body"] = loop["extent"]

        refusal(SMALL, swap)

    def test_an_array_that_holds_something_else_is_refused(self) -> None:
        def swap(document: Document) -> None:
            function = document.first("tirx.PrimFunc")
            shape = document.first("tirx.BufferType")["shape"]
            function["params"] = shape

        refusal(SMALL, swap)

    def test_a_map_with_a_key_and_no_value_is_refused(self) -> None:
        def cut(document: Document) -> None:
            document.target(document.first("ir.DictAttrs")["__dict__"])["data"].pop()

        refusal(SMALL, cut)

    def test_a_map_with_a_key_twice_is_refused(self) -> None:
        def repeat(document: Document) -> None:
            table = document.target(document.first("ir.DictAttrs")["__dict__"])["data"]
            table.extend(table[:2])

        assert "twice" in refusal(SMALL, repeat).message.english


class TestFields:
    """Fields are those of the type, of the right kind."""

    def test_a_missing_field_is_refused(self) -> None:
        refusal(SMALL, lambda document: document.first("tirx.For").pop("kind"))

    def test_an_unknown_field_is_refused(self) -> None:
        refusal(SMALL, lambda document: document.first("tirx.For").update(more=0))

    @pytest.mark.parametrize("value", [1.5, True, "0", None, 2**64])
    def test_a_number_of_the_wrong_kind_is_refused(self, value: Any) -> None:
        refusal(SMALL, lambda document: document.first("tirx.For").update(kind=value))

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64, 1.0, True, None, "1"])
    def test_an_integer_beyond_64_bits_or_of_another_kind_is_refused(self, value: Any) -> None:
        def change(document: Document) -> None:
            flag = next(document.indices("bool"))
            document.nodes[flag] = {"type": "int", "data": value}

        refusal(SMALL, change)

    def test_an_unknown_type_is_named(self) -> None:
        def rename(document: Document) -> None:
            document.nodes[next(document.indices("tirx.For"))]["type"] = "rpc.Session\x1b[31m"

        assert "`rpc.Session[31m`" in refusal(SMALL, rename).message.english

    @pytest.mark.parametrize("text", ["a\x00b", "\x07", "x" * 70_000, 5, None])
    def test_a_string_with_control_characters_or_without_end_is_refused(self, text: Any) -> None:
        refusal(SMALL, lambda document: document.set_text("Y", text))

    @pytest.mark.parametrize("dtype", ["float", "int8; x", "float32x99999", "A" * 40, 3])
    def test_a_data_type_that_is_none_is_refused(self, dtype: Any) -> None:
        refusal(SMALL, lambda document: document.first("ir.PrimType").update(dtype=dtype))

    def test_infinities_and_nan_are_read_as_tvm_writes_them(self) -> None:
        document = save(special_floats())
        assert b":-Infinity" in document
        assert b":NaN" in document
        graph = decode_graph(document)
        values = {
            graph.values[i]["value"] for i, kind in enumerate(graph.types) if kind == "ir.FloatImm"
        }
        assert {"-Infinity", "NaN"} <= values

    def test_a_string_that_looks_like_a_key_and_a_special_number_is_left_alone(self) -> None:
        document = SMALL.replace(b'"data":"Y"', b'"data":":NaN,"', 1)
        assert SMALL != document
        graph = decode_graph(document)
        assert ":NaN," in graph.values


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 400) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
MODULES = [save(product_module()), save(special_floats())]


def survives(document: bytes) -> bool:
    """Read a document; any exception but IRError is the test's failure."""
    try:
        read_module(document, ("env.*",))
    except IRError as error:
        assert error.message
        return False
    return True


class TestAnything:
    """Whatever the bytes, the reader gives facts or an IRError."""

    @given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
    @settings(max_examples=150)
    def test_random_bytes(self, document: bytes) -> None:
        assert not survives(document)

    @given(JSON, JSON, st.sampled_from(["root_index", "nodes", "metadata"]))
    @settings(max_examples=150)
    def test_random_json_in_place_of_a_part(self, value: Any, node: Any, key: str) -> None:
        module = json.loads(MODULES[0])
        data = module | {key: value}
        assert not survives(json.dumps(data).encode()) or key == "metadata" or data == module
        data = json.loads(MODULES[0])
        data["nodes"][5] = node
        assert not survives(json.dumps(data).encode())

    @given(st.data())
    @settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
    def test_random_edits_of_a_real_module(self, data: st.DataObject) -> None:
        document = Document(data.draw(st.sampled_from(MODULES)))
        for _ in range(data.draw(st.integers(1, 3))):
            edit(document, data)
        survives(document.encode())

    @given(st.data())
    @settings(max_examples=100)
    def test_random_bytes_within_a_real_module(self, data: st.DataObject) -> None:
        document = bytearray(MODULES[0])
        at = data.draw(st.integers(0, len(document) - 1))
        document[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        survives(bytes(document))


def edit(document: Document, data: st.DataObject) -> None:
    """Change one node: its type, or a field or an element, often to a node of the right type."""
    index = data.draw(st.integers(1, len(document.nodes) - 1))
    node = document.nodes[index]
    content = node.get("data")
    choice = data.draw(st.integers(0, 9))
    if choice == 0:
        node["type"] = data.draw(st.sampled_from(document.nodes))["type"]
    elif isinstance(content, dict | list) and content:
        keys = list(content) if isinstance(content, dict) else range(len(content))
        key = data.draw(st.sampled_from(keys))
        content[key] = data.draw(like(document, index, content[key]) if choice < 8 else JSON)
    else:
        node["data"] = data.draw(JSON)


def like(document: Document, index: int, old: Any) -> st.SearchStrategy[Any]:
    """Return references to earlier nodes of the type that was referred to, and to any."""
    if type(old) is not int or not 0 <= old < index:
        return JSON
    kind = document.nodes[old]["type"]
    same = [i for i in document.indices(kind) if i < index]
    return st.sampled_from(same) | st.integers(0, index - 1)
