"""The node types that a module may contain, as rules that a graph is checked against.

The rules are data, made by reflection over TVM (`tools/make_ir_schema.py`); this module only reads
them.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

SCHEMA_FILE = "schema_tvm_0_27.json"

RuleKind = Literal["int", "float", "bool", "dtype", "node", "array", "map", "any"]

Payload = Literal[
    "none", "bool", "int", "float", "dtype", "string", "array", "map", "tensor", "fields"
]
"""What the `data` of a node is; "fields" is a table of fields with a rule each."""


class Rule(msgspec.Struct, frozen=True, eq=False):
    """What one field, element, key or value may be.

    `int`, `float`, `bool` and `dtype` are written in place; the others are an index into the nodes:
    "node" to one of `types`, "array" and "map" to a container whose elements follow `item` (and
    `key`), "any" to a plain value. `null` also allows a node of type None.
    """

    kind: RuleKind
    types: frozenset[str] = frozenset()
    item: Rule | None = None
    key: Rule | None = None
    null: bool = False


class Schema(msgspec.Struct, frozen=True):
    """Rules of all accepted types. `plain` are the types that an "any" may lead to."""

    tvm: str
    payloads: dict[str, Payload]
    nodes: dict[str, dict[str, Rule]]
    groups: dict[str, frozenset[str]]

    @property
    def plain(self) -> frozenset[str]:
        """Types of plain values: those of annotations and function attributes."""
        return self.groups["plain"]


# Made now: msgspec crashes when two threads are the first to decode a struct.
_DECODER = msgspec.json.Decoder(Schema)


@cache
def load_schema() -> Schema:
    """Return the schema of the pinned TVM, with groups (`@scalar`) replaced by their members."""
    document = files("grader.ir").joinpath(SCHEMA_FILE).read_bytes()
    raw = _DECODER.decode(document)
    nodes = {
        key: {name: _expand(rule, raw.groups) for name, rule in fields.items()}
        for key, fields in raw.nodes.items()
    }
    return msgspec.structs.replace(raw, nodes=nodes)


def _expand(rule: Rule, groups: dict[str, frozenset[str]]) -> Rule:
    types: set[str] = set()
    for name in rule.types:
        types |= groups[name[1:]] if name.startswith("@") else {name}
    return msgspec.structs.replace(
        rule,
        types=frozenset(types),
        item=_expand(rule.item, groups) if rule.item else None,
        key=_expand(rule.key, groups) if rule.key else None,
    )
