"""Index maps in a trace: how a step counts the elements of a block or a buffer anew.

TVM keeps one as the graph of an object within a string, and would load whatever object that is. So
each node must be one of the few that index maps are made of, refer to earlier nodes only, and have
the kind of children that its place asks for; what is passed on is written anew.
"""

from collections.abc import Callable
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
_EXPRESSIONS = _OPERATORS | {"ir.Var", "ir.IntImm"}


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


def _is_good(node: _Node, earlier: list[_Node]) -> bool:
    """Say whether a node is written as it should be; `earlier` are those that it may refer to."""

    def has(index: Any, *types: str) -> bool:
        return type(index) is int and 0 <= index < len(earlier) and earlier[index].type in types

    check = _CHECKS.get(node.type, _is_operation if node.type in _OPERATORS else None)
    return check is not None and check(node.data, has)


_Has = Callable[..., bool]


def _fields(data: Any, *names: str) -> bool:
    return type(data) is dict and set(data) == set(names)


def _is_nothing(data: Any, _: _Has) -> bool:
    return data is None


def _is_string(data: Any, _: _Has) -> bool:
    return type(data) is str and is_name(data)


def _is_index_number(data: Any, _: _Has) -> bool:
    return type(data) is int and data in NUMBERS


def _is_type(data: Any, has: _Has) -> bool:
    good = _fields(data, "span", "dtype") and has(data["span"], "None")
    return good and data["dtype"] in ("int32", "int64")


def _is_variable(data: Any, has: _Has) -> bool:
    good = _fields(data, "span", "ty", "name") and has(data["span"], "None")
    return good and has(data["ty"], "ir.PrimType") and has(data["name"], "ffi.String")


def _is_constant(data: Any, has: _Has) -> bool:
    good = _fields(data, "span", "ty", "value") and has(data["span"], "None")
    return good and has(data["ty"], "ir.PrimType") and has(data["value"], "int")


def _is_operation(data: Any, has: _Has) -> bool:
    good = _fields(data, "span", "ty", "a", "b") and has(data["span"], "None")
    sides = good and has(data["a"], *_EXPRESSIONS) and has(data["b"], *_EXPRESSIONS)
    return sides and has(data["ty"], "ir.PrimType")


def _is_list(data: Any, has: _Has) -> bool:
    return type(data) is list and all(has(each, *_EXPRESSIONS) for each in data)


def _is_map(data: Any, has: _Has) -> bool:
    if not _fields(data, "initial_indices", "final_indices", "inverse_index_map"):
        return False
    lists = (data["initial_indices"], data["final_indices"])
    return has(data["inverse_index_map"], "None") and all(has(each, "ffi.Array") for each in lists)


_CHECKS: dict[str, Callable[[Any, _Has], bool]] = {
    "None": _is_nothing,
    "ffi.String": _is_string,
    "int": _is_index_number,
    "ir.PrimType": _is_type,
    "ir.Var": _is_variable,
    "ir.IntImm": _is_constant,
    "ffi.Array": _is_list,
    "tirx.IndexMap": _is_map,
}
