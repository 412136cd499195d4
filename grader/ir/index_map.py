"""Index maps in a trace: how a step counts the elements of a block or a buffer anew.

TVM keeps one as the graph of an object within a string, and would load whatever object that is. So
each node must be one of the few that index maps are made of, refer to earlier nodes only, and have
the kind of children that its place asks for; what is passed on is written anew.
"""

from typing import Any

import msgspec

from grader.decoding import prepared
from grader.ir.vocabulary import is_name

SIZE_LIMIT = 2**16
"""Longest index map, in characters."""

NODE_LIMIT = 512
"""Most nodes of one."""

NUMBERS = range(-(2**31), 2**31)
"""What an integer in a trace may be."""

_OPERATORS = frozenset({"prim.Add", "prim.Sub", "prim.Mul", "prim.FloorDiv", "prim.FloorMod"})


class _Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: str
    data: Any = None


class _Graph(msgspec.Struct, frozen=True):
    root_index: int
    nodes: list[_Node]


_DECODER = msgspec.json.Decoder(prepared(_Graph))


def rewrite_index_map(text: str) -> str | None:
    """Return an index map as JSON, written anew, or None where it is none that is understood."""
    if len(text) > SIZE_LIMIT:
        return None
    try:
        graph = _DECODER.decode(text.encode())
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError, ValueError):
        return None
    nodes = graph.nodes
    if not 0 < len(nodes) <= NODE_LIMIT or graph.root_index != len(nodes) - 1:
        return None
    if nodes[-1].type != "tirx.IndexMap" or not all(
        _is_good(node, nodes[:place]) for place, node in enumerate(nodes)
    ):
        return None
    written = [
        {"type": node.type} if node.data is None else {"type": node.type, "data": node.data}
        for node in nodes
    ]
    return msgspec.json.encode({"root_index": graph.root_index, "nodes": written}).decode()


_EXPRESSION = tuple(_OPERATORS | {"ir.Var", "ir.IntImm"})
_OPERATION = {"a": _EXPRESSION, "b": _EXPRESSION, "ty": ("ir.PrimType",), "span": ("None",)}
_FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "ir.PrimType": {"span": ("None",), "dtype": ()},
    "ir.Var": {"span": ("None",), "ty": ("ir.PrimType",), "name": ("ffi.String",)},
    "ir.IntImm": {"span": ("None",), "ty": ("ir.PrimType",), "value": ("int",)},
    "tirx.IndexMap": {
        "initial_indices": ("ffi.Array",),
        "final_indices": ("ffi.Array",),
        "inverse_index_map": ("None",),
    },
    **dict.fromkeys(_OPERATORS, _OPERATION),
}
"""The fields of nodes that have some, and the types of the nodes that each may refer to."""


def _is_good(node: _Node, earlier: list[_Node]) -> bool:
    """Say whether a node is written as it should be; `earlier` are those that it may refer to."""
    data = node.data

    def has(index: Any, types: tuple[str, ...]) -> bool:
        return type(index) is int and 0 <= index < len(earlier) and earlier[index].type in types

    if node.type == "None":
        return data is None
    if node.type == "ffi.String":
        return type(data) is str and is_name(data)
    if node.type == "int":
        return type(data) is int and data in NUMBERS
    if node.type == "ffi.Array":
        return type(data) is list and all(has(each, _EXPRESSION) for each in data)
    fields = _FIELDS.get(node.type)
    if fields is None or type(data) is not dict or data.keys() != fields.keys():
        return False
    # A data type is written in place.
    is_typed = node.type != "ir.PrimType" or data["dtype"] in ("int32", "int64")
    return is_typed and all(has(data[name], types) for name, types in fields.items() if types)
