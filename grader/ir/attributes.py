"""Attributes of functions that mean nothing to TVM, taken out of a module's text.

`"tir.alias"` for `"tirx.noalias"` asks for nothing. It is left out before the module goes anywhere,
so that it cannot mean anything after all; what is known to do something is left in, and refused.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

from grader.ir.allowed import ACTING_ATTRIBUTES, FUNCTION_ATTRIBUTES
from grader.ir.graph import Graph, decode_graph

_FUNCTIONS = ("tirx.PrimFunc", "relax.expr.Function")


def without_idle_attributes(document: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return a module's text without attributes of functions that do nothing, and their names.

    Each name is there once. The same text where there are none. Raises IRError for what is no
    module.
    """
    graph = decode_graph(document)
    idle: dict[int, list[int]] = {}
    for table in _attribute_tables(graph):
        keys = [key for key, _ in graph.pairs(table) if _is_idle(graph.text(key))]
        if keys:
            idle[table] = keys
    if not idle:
        return document, ()
    whole = json.loads(document)
    for table, keys in idle.items():
        kept = [pair for pair in graph.pairs(table) if pair[0] not in keys]
        whole["nodes"][table]["data"] = [node for pair in kept for node in pair]
    names = dict.fromkeys(graph.text(key) for keys in idle.values() for key in keys)
    return json.dumps(whole, separators=(",", ":")).encode(), tuple(names)


def _attribute_tables(graph: Graph) -> set[int]:
    functions = (index for index, kind in enumerate(graph.types) if kind in _FUNCTIONS)
    return {graph.field(graph.field(index, "attrs"), "__dict__") for index in functions}


def _is_idle(name: str) -> bool:
    acting = any(fnmatchcase(name, pattern) for pattern in ACTING_ATTRIBUTES)
    return name not in FUNCTION_ATTRIBUTES and not acting
