"""Modules written anew: without attributes that mean nothing, and for another batch.

Nothing of a student's text is passed on with a hole in it: what is written are nodes that were
read.
"""

import json
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from grader.ir.batch_axis import Changes, NotPlainError, Replacement, find_batch_axis
from grader.ir.graph import Graph, decode_graph
from grader.ir.vocabulary import ACTING_ATTRIBUTES, FUNCTION_ATTRIBUTES, load_schema
from grader.language import NOTHING, Text, say

# --- idle attributes ------------------------------------------------------------------------------
# Attributes of functions that mean nothing to TVM, taken out of a module's text.
#
# `"tir.alias"` for `"tirx.noalias"` asks for nothing. It is left out before the module goes
# anywhere, so that it cannot mean anything after all; what is known to do something is left in, and
# refused.


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


# --- another batch --------------------------------------------------------------------------------
# A PrimFunc for another batch: the same program, with the extents of the batch axis changed.
#
# Everything is written anew, so that a node which several places share (the number 4, a shape)
# changes only where the batch is meant. Where it is not plain what the batch is, nothing is made.


_SCHEDULABLE = "tirx.PrimFunc"


class Rebatched(NamedTuple):
    """Modules for the batches asked for, in their order; none, and the reason, where it failed."""

    documents: tuple[bytes, ...]
    reason: Text = NOTHING


def rebatch(
    document: bytes,
    function: str,
    data: int,
    batches: tuple[int, ...],
    others: tuple[str, ...] = (),
) -> Rebatched:
    """Return modules in which a PrimFunc works on other batches.

    `document` is a module as `tvm.ir.save_json` gives it, and `data` the place of the parameter
    whose first axis is the batch. The modules hold the PrimFunc, and those named in `others` as
    they are; nothing calls them. Raises IRError where `document` is not a module.
    """
    graph = decode_graph(document)
    functions = {
        graph.name(variable, "name_hint"): node
        for variable, node in graph.pairs(graph.field(graph.root, "functions"))
        if graph.type_of(node) == _SCHEDULABLE
    }
    node = functions.get(function)
    if node is None:
        return Rebatched((), say("there-no-such-function"))
    try:
        changes = find_batch_axis(graph, node, data)
        kept = dict.fromkeys(functions[name] for name in functions if name in (function, *others))
        writer = _Writer(graph, list(kept), node, changes)
        return Rebatched(tuple(writer.write(batch) for batch in batches))
    except NotPlainError as error:
        return Rebatched((), error.reason)


class _Writer:
    """Writes the PrimFuncs of a module, one of them with changes."""

    def __init__(self, graph: Graph, functions: list[int], function: int, changes: Changes) -> None:
        self.graph = graph
        self.changes = changes
        self.variables = {
            node: variable for variable, node in graph.pairs(graph.field(graph.root, "functions"))
        }
        self.functions = functions
        self.kept = self.reachable([*self.functions, *map(self.variables.get, self.functions)])
        others = [each for each in self.functions if each != function]
        shared = self.reachable([*others, *map(self.variables.get, others)])
        # Two names may stand for one body (or one buffer): the other function would change with it.
        if not shared.isdisjoint(changes):
            raise NotPlainError(say("shares-parts-with-another-function"))
        # Bytes of a constant are not kept by the reader, so they cannot be written again.
        if any(graph.type_of(each) == "ffi.Tensor" for each in self.kept):
            raise NotPlainError(say("function-holds-array-own"))

    def reachable(self, roots: list[Any]) -> set[int]:
        """Return nodes and all that they refer to, but for the types of functions."""
        seen = set(roots)
        pending = list(roots)
        while pending:
            index = pending.pop()
            for child in self.children(index):
                if child not in seen:
                    seen.add(child)
                    pending.append(child)
        return seen

    def children(self, index: int) -> list[int]:
        graph = self.graph
        if graph.type_of(index) in (_SCHEDULABLE, "ir.GlobalVar"):
            # A function's type has the shapes of the old batch.
            skipped = graph.field(index, "ty")
            return [child for child in graph.children[index] if child != skipped]
        return graph.children[index]

    def write(self, batch: int) -> bytes:
        """Return the module for a batch, as graph JSON."""
        self.batch = batch
        self.nodes: list[dict[str, Any]] = []
        self.places: dict[int, int] = {}
        self.none = self.add("None")
        self.untyped = self.add("ir.Type", {"span": self.none})
        for index in sorted(self.kept):
            self.places[index] = self.old(index)
        root = self.module()
        return json.dumps({"root_index": root, "nodes": self.nodes}, separators=(",", ":")).encode()

    def add(self, kind: str, *data: Any) -> int:
        self.nodes.append({"type": kind, "data": data[0]} if data else {"type": kind})
        return len(self.nodes) - 1

    def module(self) -> int:
        """Write the module around the functions; return its node."""
        graph, root, places = self.graph, self.graph.root, self.places
        empty = self.add("ffi.Map", [])
        pairs = [(self.variables[node], node) for node in self.functions]
        functions = [places[each] for pair in pairs for each in pair]
        names = [
            place
            for variable, _ in pairs
            for place in (places[graph.field(variable, "name_hint")], places[variable])
        ]
        fields = {
            "functions": self.add("ffi.Map", functions),
            "global_var_map_": self.add("ffi.Map", names),
            "source_map": self.add("ir.SourceMap", {"source_map": empty}),
            "attrs": self.add("ir.DictAttrs", {"__dict__": empty}),
            "global_infos": empty,
        }
        assert fields.keys() == graph.values[root].keys()
        return self.add("ir.IRModule", fields)

    def old(self, index: int) -> int:
        """Write a node of the old graph, with what changes; return its place."""
        changes = self.changes.get(index, {})
        replaced: dict[Any, int] = {name: self.new(each) for name, each in changes.items()}
        if self.graph.type_of(index) in (_SCHEDULABLE, "ir.GlobalVar"):
            replaced["ty"] = self.untyped
        return self.copy(index, replaced)

    def new(self, change: Replacement) -> int:
        """Write what a change stands for; return its place."""
        if change.children:
            replaced = {key: self.new(each) for key, each in change.children.items()}
            return self.copy(change.node, replaced)
        # The number 4 is one node wherever it stands: a copy changes where the batch is meant, and
        # the kernel's 4 stays.
        value = self.add("int", self.batch if change.is_batch else 0)
        return self.copy(change.node, {"value": value})

    def copy(self, index: int, replaced: dict[Any, int]) -> int:
        """Write a copy of a node, some of its children replaced; return its place."""
        graph = self.graph
        kind, value = graph.type_of(index), graph.values[index]
        if kind == "None":
            return self.add(kind)
        if kind in ("ffi.Array", "ffi.Map"):
            items = [replaced.get(at, self.places.get(each)) for at, each in enumerate(value)]
            return self.add(kind, items)
        rules = load_schema().nodes.get(kind)
        if rules is None:
            return self.add(kind, _number(value) if kind == "float" else value)
        return self.add(
            kind,
            {
                name: replaced[name] if name in replaced else self.field(value[name], rule.kind)
                for name, rule in rules.items()
            },
        )

    def field(self, value: Any, kind: str) -> Any:
        """Return what is written in a field: a place, or a value that stands there itself."""
        if kind in ("node", "array", "map", "any"):
            return self.places[value]
        return _number(value) if kind == "float" else value


def _number(value: Any) -> Any:
    """Return a number; those that are no JSON were read as their names."""
    return float(value.replace("Infinity", "inf")) if type(value) is str else value
