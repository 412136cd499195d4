"""The graph of a module: decoding of `tvm.ir.save_json` text, strictly and without TVM.

The text is `{"root_index": n, "nodes": [{"type": ..., "data": ...}, ...], "metadata": {...}}`.
Fields of a node are numbers in place or indices of other nodes; TVM writes a node after everything
it refers to. The reader insists on that order, which excludes cycles, and on a bounded depth, since
TVM's loader recurses.

TVM parses the same text again, with its own parser, in another process. So that both read the
same, a text in which a key occurs twice is refused.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from grader.decoding import prepared
from grader.errors import IRError
from grader.ir.vocabulary import (
    Rule,
    Schema,
    TensorError,
    TensorHeader,
    is_data_type,
    is_text,
    load_schema,
    read_header,
    shown,
)
from grader.language import Text, say

SIZE_LIMIT = 64 * 2**20
"""Longest text, in bytes."""

NODE_LIMIT = 100_000
"""Most nodes; a convolutional classifier has 1 800, an imported ResNet some ten thousand."""

ITEM_LIMIT = 1_000_000
"""Most commas, and most quotes, as a bound on parsing: a classifier has 9 000 and 25 000."""

DEPTH_LIMIT = 1000
"""Longest chain of references. TVM's loader recurses and overflows between 1 000 and 2 000."""

DAMAGED_HINT = say("restart-kernel-run-all-cells-and-hand")
UNUSUAL_HINT = say("build-module-with-te-tensorir-and-relax")

_SPECIAL_FLOAT = re.compile(rb'(?<=[a-z_])":(-?Infinity|NaN)(?=[,}])')
_SPECIAL_FLOATS = {"Infinity", "-Infinity", "NaN"}
_INT64 = range(-(2**63), 2**63)
_REFERENCES = ("node", "array", "map", "any")
_CONTAINERS = {"array": "ffi.Array", "map": "ffi.Map"}
_PLAIN_CONTAINERS = frozenset(_CONTAINERS.values())


class _Node(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str
    data: Any = msgspec.UNSET


class _Metadata(msgspec.Struct, forbid_unknown_fields=True):
    tvm_version: str | msgspec.UnsetType = msgspec.UNSET


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    root_index: int
    nodes: list[_Node]
    metadata: _Metadata | msgspec.UnsetType = msgspec.UNSET


# Made now: msgspec crashes when two threads are the first to decode a struct.
_DECODER = msgspec.json.Decoder(prepared(_Document))


class Graph:
    """A checked graph. Nodes are named by their index, `root` is the module's.

    `types[i]` is the type of node i; `values[i]` its data: fields by name, indices of elements,
    alternating indices of keys and values, a string, a number, a `TensorHeader`, or None.
    `children[i]` are the nodes it refers to.
    """

    def __init__(self, document: _Document) -> None:
        self.root = document.root_index
        self.types: list[str] = [node.type for node in document.nodes]
        self.values: list[Any] = []
        self.children: list[list[int]] = []
        self._scalars = load_schema().groups["scalar"]

    def type_of(self, index: int) -> str:
        """Return a node's type."""
        return self.types[index]

    def field(self, index: int, name: str) -> int:
        """Return a field: an index, or the number that is written in place."""
        value: int = self.values[index][name]
        return value

    def optional(self, index: int, name: str) -> int | None:
        """Return a field that is an index, or None where it refers to null."""
        child: int = self.values[index][name]
        return None if self.types[child] == "None" else child

    def text(self, index: int) -> str:
        """Return the text of a node that is a string."""
        value: str = self.values[index]
        return value

    def name(self, index: int, field: str = "name") -> str:
        """Return the text of a field that is a string."""
        return self.text(self.field(index, field))

    def items(self, index: int) -> list[int]:
        """Return the elements of an array."""
        value: list[int] = self.values[index]
        return value

    def list(self, index: int, field: str) -> list[int]:
        """Return the elements of a field that is an array, none where it refers to null."""
        child = self.optional(index, field)
        return [] if child is None else self.items(child)

    def pairs(self, index: int) -> Iterator[tuple[int, int]]:
        """Return keys and values of a map."""
        value: list[int] = self.values[index]
        return zip(value[::2], value[1::2], strict=True)

    def is_scalar_or_array(self, index: int) -> bool:
        """Say whether a node is a scalar expression, or the list of the operands of one."""
        kind = self.types[index]
        return kind == "ffi.Array" or kind in self._scalars


def decode_graph(document: bytes) -> Graph:
    """Decode the text of a module. Raises IRError, and nothing else, for any bytes."""
    parsed = _parse(document)
    graph = Graph(parsed)
    _Checker(graph, load_schema()).run(parsed.nodes)
    if _count_keys(document) != _expected_keys(parsed):
        raise _damaged(say("field-written-twice"))
    if not 0 <= graph.root < len(graph.types) or graph.types[graph.root] != "ir.IRModule":
        raise IRError(say("saved-object-not-irmodule"), say("return-irmodule-itself"))
    return graph


def _parse(document: bytes) -> _Document:
    if len(document) > SIZE_LIMIT:
        raise IRError(
            say("module-larger-than-mb", limit=SIZE_LIMIT // 2**20),
            say("keep-only-given-weights-as-constants"),
        )
    # Counted before it is parsed: 64 MB of small values take many times as much once they are
    # objects.
    if max(document.count(b","), document.count(b'"')) > ITEM_LIMIT:
        raise _too_many()
    if b":NaN" in document or b":Infinity" in document or b":-Infinity" in document:
        # A quote after a letter ends a key: inside a string it would follow a backslash.
        document = _SPECIAL_FLOAT.sub(rb'":"\1"', document)
    try:
        parsed = _DECODER.decode(document)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError):
        raise _damaged(say("not-json-that-tvm-writes")) from None
    if len(parsed.nodes) > NODE_LIMIT:
        raise _too_many()
    return parsed


def _count_keys(document: bytes) -> int:
    """Return how often a key that ends in a letter, a digit or an underscore is written.

    Within a string a quote follows a backslash, so that one after such a character ends a string,
    and it ends a key where a colon comes next.
    """
    return sum(
        after.lstrip().startswith(b":") and (before[-1:].isalnum() or before.endswith(b"_"))
        for before, after in pairwise(document.split(b'"'))
    )


def _expected_keys(parsed: _Document) -> int:
    """Return how many keys a text has in which no key is written twice."""
    total = 2 + (parsed.metadata is not msgspec.UNSET)
    if isinstance(parsed.metadata, _Metadata):
        total += parsed.metadata.tvm_version is not msgspec.UNSET
    for node in parsed.nodes:
        total += 1 + (node.data is not msgspec.UNSET)
        total += len(node.data) if isinstance(node.data, dict) else 0
    return total


def _damaged(reason: Text) -> IRError:
    return IRError(say("saved-module-damaged", reason=reason), DAMAGED_HINT)


def _too_many() -> IRError:
    return IRError(say("module-has-too-many-parts-read"), say("build-smaller-module"))


class _Checker:
    """Checks every node against the schema, in the order of the text, and fills the graph."""

    def __init__(self, graph: Graph, schema: Schema) -> None:
        self.graph = graph
        self.schema = schema
        self.depths: list[int] = []
        self.accepted: set[tuple[int, int]] = set()
        self.plain: set[int] = set()

    def run(self, nodes: list[_Node]) -> None:
        for index, node in enumerate(nodes):
            payload = self.schema.payloads.get(node.type, "fields")
            children: list[int] = []
            if payload == "fields":
                value = self.fields(index, node, children)
            else:
                value = self.payload(payload, index, node.data, children)
            self.graph.values.append(value)
            self.graph.children.append(children)
            depth = 1 + max((self.depths[child] for child in children), default=0)
            if depth > DEPTH_LIMIT:
                raise IRError(
                    say("module-nested-more-than-levels-deep", depth_limit=DEPTH_LIMIT),
                    say("use-loop-instead-writing-out-long-expression"),
                )
            self.depths.append(depth)

    def fields(self, index: int, node: _Node, children: list[int]) -> dict[str, Any]:
        rules = self.schema.nodes.get(node.type)
        if rules is None:
            raise IRError(
                say("module-contains-which-not-accepted-here", name=shown(node.type)), UNUSUAL_HINT
            )
        data = node.data
        if type(data) is not dict or data.keys() != rules.keys():
            raise _damaged(say("does-not-have-fields", node=shown(node.type)))
        for name, rule in rules.items():
            value = data[name]
            if not self.accepts(value, rule, index):
                raise _damaged(say("field-not-right", name=shown(name), node=shown(node.type)))
            if rule.kind in _REFERENCES:
                children.append(value)
        return data

    def payload(self, kind: str, index: int, data: Any, children: list[int]) -> Any:
        """Check a node whose data is not a table of fields, and return its value."""
        if kind in ("array", "map"):
            if not self.references(data, index) or (kind == "map" and len(data) % 2):
                raise _damaged(say("refers-something-that-does-not-exist", kind=kind))
            if kind == "map" and not self.are_distinct(data[::2]):
                raise _damaged(say("map-has-key-twice"))
            children.extend(data)
            if all(self.is_plain(child) for child in data):
                self.plain.add(index)
            return data
        if kind == "tensor":
            return self.tensor(data)
        if not _is_payload(kind, data):
            raise _damaged(say("value-kind-invalid", kind=kind))
        return None if kind == "none" else data

    def are_distinct(self, keys: list[int]) -> bool:
        """Say whether the keys of a map differ, strings by their text."""
        types, values = self.graph.types, self.graph.values
        # Two nodes may hold one text: of two such keys one would be read here, and perhaps the
        # other by TVM.
        names = {values[key] if types[key] == "ffi.String" else key for key in keys}
        return len(names) == len(keys)

    def tensor(self, data: Any) -> TensorHeader:
        if type(data) is not str:
            raise _damaged(say("constant-not-tensor"))
        try:
            return read_header(data)
        except TensorError as error:
            raise _damaged(say("constant-not-whole-tensor", error=error.reason)) from None

    def references(self, data: Any, index: int) -> bool:
        """Say whether `data` is a list of nodes before `index`."""
        return type(data) is list and all(type(item) is int and 0 <= item < index for item in data)

    def accepts(self, value: Any, rule: Rule, index: int) -> bool:
        """Say whether a field, element, key or value of node `index` follows its rule."""
        if rule.kind in ("int", "float", "bool", "dtype"):
            return _is_payload(rule.kind, value)
        if type(value) is not int or not 0 <= value < index:
            return False
        kind = self.graph.types[value]
        if rule.kind == "node":
            return kind in rule.types or (rule.null and kind == "None")
        if rule.null and kind == "None":
            return True
        if rule.kind == "any":
            return self.is_plain(value)
        return kind == _CONTAINERS[rule.kind] and self.holds(value, rule)

    def is_plain(self, index: int) -> bool:
        """Say whether a node is a plain value; containers were judged when they were read."""
        kind = self.graph.types[index]
        return index in self.plain if kind in _PLAIN_CONTAINERS else kind in self.schema.plain

    def holds(self, index: int, rule: Rule) -> bool:
        """Say whether the elements of an array or a map follow their rule, once for each rule."""
        # Thousands of fields may share one array: it is gone through once for each rule.
        if (index, id(rule)) in self.accepted:
            return True
        assert rule.item is not None
        data, item, key = self.graph.values[index], rule.item, rule.key
        good = all(self.accepts(value, item, index) for value in (data[1::2] if key else data))
        if key is not None and good:
            good = all(self.accepts(value, key, index) for value in data[::2])
        if good:
            self.accepted.add((index, id(rule)))
        return good


def _is_payload(kind: str, value: Any) -> bool:
    """Say whether a value that is written in place is of its kind."""
    if kind == "int":
        return type(value) is int and value in _INT64
    if kind == "float":
        return type(value) in (float, int) or (type(value) is str and value in _SPECIAL_FLOATS)
    if kind == "bool":
        return type(value) is bool
    if kind == "none":
        return value is msgspec.UNSET
    return type(value) is str and _is_string(kind, value)


def _is_string(kind: str, value: str) -> bool:
    return is_data_type(value) or not value if kind == "dtype" else is_text(value)
