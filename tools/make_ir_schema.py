"""Write the node schema of TVM's graph JSON, by reflection over the installed TVM.

    python tools/make_ir_schema.py [--check]

The reader in `grader/ir` never imports TVM; what it knows of node types is the file this script
writes. Run it again after a change of the pinned TVM, read the difference, and commit it. `--check`
only says whether the committed file is up to date.

Reflection gives each field's static type. Three things it does not give are stated here: which
types an honest module contains (`STATEMENTS` and what follows), which fields hold null although
their type is not Optional (`NULLABLE`), and where a field that is declared as any expression holds
only scalar ones (`SCALAR_OWNERS`).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import tvm
from tvm_ffi import core
from tvm_ffi.registry import get_registered_type_keys

OUTPUT = Path(__file__).resolve().parents[1] / "grader" / "ir" / "schema_tvm_0_27.json"

PAYLOADS = {
    "None": "none",
    "bool": "bool",
    "int": "int",
    "float": "float",
    "DataType": "dtype",
    "ffi.String": "string",
    "ffi.Array": "array",
    "ffi.Map": "map",
    "ffi.Tensor": "tensor",
    "ir.Op": "string",
    "ir.EnvFunc": "string",
    "ir.SourceName": "string",
    "tirx.Axis": "string",
}
"""Types whose `data` is not a table of fields."""

SCALARS = [
    "ir.IntImm",
    "ir.FloatImm",
    "ir.Var",
    "ir.TensorLoad",
    "ir.Call",
]
"""Scalar expressions, beside everything under `prim.`."""

STATEMENTS = [
    "s_tir.SBlockRealize",
    "tirx.AllocBuffer",
    "tirx.AssertStmt",
    "tirx.AttrStmt",
    "tirx.Bind",
    "tirx.BufferStore",
    "tirx.Evaluate",
    "tirx.For",
    "tirx.IfThenElse",
    "tirx.SeqStmt",
    "tirx.While",
]

FUNCTIONS = ["tirx.PrimFunc", "relax.expr.Function", "relax.expr.ExternFunc"]

GRAPH_EXPRESSIONS = [
    "ir.GenericConst",
    "ir.GlobalVar",
    "ir.StringImm",
    "ir.Tuple",
    "ir.TupleGetItem",
    "relax.expr.DataflowVar",
    "relax.expr.If",
    "relax.expr.SeqExpr",
    "relax.expr.ShapeExpr",
    "relax.expr.Function",
    "relax.expr.ExternFunc",
]

TYPES = [
    "ir.OpaqueType",
    "ir.PointerType",
    "ir.PrimType",
    "ir.StringType",
    "ir.TupleType",
    "ir.Type",
    "relax.AnyType",
    "relax.FuncType",
    "relax.PackedFuncType",
    "relax.ShapeType",
    "relax.TensorType",
    "tirx.BufferRegionType",
    "tirx.BufferType",
]

OTHERS = [
    "ir.DictAttrs",
    "ir.IRModule",
    "ir.Range",
    "ir.SequentialSpan",
    "ir.Source",
    "ir.SourceMap",
    "ir.Span",
    "ir.TensorRegion",
    "relax.DummyGlobalInfo",
    "relax.expr.BindingBlock",
    "relax.expr.DataflowBlock",
    "relax.expr.MatchCast",
    "relax.expr.VarBinding",
    "s_tir.MatchBufferRegion",
    "s_tir.SBlock",
    "tirx.IndexMap",
    "tirx.Iter",
    "tirx.IterVar",
    "tirx.TileLayout",
]

REFUSED_ATTRIBUTES = {
    "relax.attrs.AllGatherAttrs",
    "relax.attrs.AllReduceAttrs",
    "relax.attrs.DistributionAttrs",
    "relax.attrs.HintOnDeviceAttrs",
    "relax.attrs.ScatterCollectiveAttrs",
    "relax.attrs.ToVDeviceAttrs",
}
"""Attributes of operators on several devices: they lead to types that describe machines."""

PLAIN = [
    "None",
    "bool",
    "int",
    "float",
    "DataType",
    "ffi.String",
    "ffi.Array",
    "ffi.Map",
    "ffi.Tensor",
    "ir.DictAttrs",
    "ir.FloatImm",
    "ir.IntImm",
    "ir.StringImm",
    "ir.Var",
    "tirx.IterVar",
]
"""What a field of type Any may hold: values of annotations and function attributes."""

NULLABLE = {("ir.Call", "attrs"), ("tirx.IterVar", "dom")}
"""Fields that honest modules leave null although they are not Optional (beside `span`)."""

SCALAR_OWNERS = ("prim.", "tirx.", "s_tir.", "ir.TensorLoad", "ir.Range", "relax.ShapeType")
"""Types whose fields of type ir.Expr hold scalar expressions only."""

OVERRIDES: dict[tuple[str, str], dict[str, Any]] = {
    ("ir.TensorLoad", "source"): {"kind": "node", "types": ["ir.Var"]},
    ("ir.TensorRegion", "source"): {"kind": "node", "types": ["ir.Var"]},
    ("ir.GenericConst", "value"): {"kind": "node", "types": ["ffi.Tensor", "DataType"]},
    ("ir.Call", "op"): {
        "kind": "node",
        "types": [
            "ir.Op",
            "ir.GlobalVar",
            "ir.Var",
            "relax.expr.DataflowVar",
            "relax.expr.ExternFunc",
        ],
    },
    ("ir.IRModule", "functions"): {
        "kind": "map",
        "key": {"kind": "node", "types": ["ir.GlobalVar"]},
        "item": {"kind": "node", "types": FUNCTIONS},
    },
    ("relax.TensorType", "shape"): {
        "kind": "node",
        "types": ["relax.expr.ShapeExpr", "ir.Var", "relax.expr.DataflowVar"],
        "null": True,
    },
    ("relax.TensorType", "vdevice"): {"kind": "node", "types": [], "null": True},
    ("relax.expr.ShapeExpr", "values"): {
        "kind": "array",
        "item": {"kind": "node", "types": ["@scalar"]},
    },
    ("relax.attrs.SplitAttrs", "indices_or_sections"): {
        "kind": "node",
        "types": ["ir.IntImm", "ffi.Array"],
    },
    ("tirx.AttrStmt", "value"): {"kind": "node", "types": ["@expression"]},
    ("tirx.IndexMap", "inverse_index_map"): {
        "kind": "node",
        "types": ["tirx.IndexMap"],
        "null": True,
    },
    ("tirx.BufferType", "layout"): {"kind": "node", "types": ["tirx.TileLayout"], "null": True},
}
"""Fields whose static type says too little, or more than an honest module needs."""

INLINE = {"int": "int", "bool": "bool", "float": "float", "DataType": "dtype"}
"""Static types that are written into the field itself; anything else is a reference to a node."""


def main() -> int:
    """Write the schema, or compare it with `--check`. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the node schema of TVM's graph JSON.")
    parser.add_argument("--check", action="store_true", help="only compare with the committed file")
    text = _format(make_schema())
    if parser.parse_args().check:
        current = OUTPUT.read_text() if OUTPUT.exists() else ""
        print("up to date" if current == text else "differs: run tools/make_ir_schema.py")
        return 0 if current == text else 1
    OUTPUT.write_text(text)
    print(f"{OUTPUT.name}: {len(text)} bytes")
    return 0


def make_schema() -> dict[str, Any]:
    """Return the whole schema as plain data."""
    keys = sorted(str(key) for key in get_registered_type_keys())
    scalars = SCALARS + [key for key in keys if key.startswith("prim.")]
    attributes = [
        key for key in keys if key.startswith("relax.attrs.") and key not in REFUSED_ATTRIBUTES
    ]
    groups = {
        "scalar": sorted(scalars),
        "statement": STATEMENTS,
        "function": FUNCTIONS,
        "expression": sorted(set(scalars + GRAPH_EXPRESSIONS)),
        "type": TYPES,
        "attributes": sorted([*attributes, "ir.DictAttrs"]),
        "plain": PLAIN,
        "span": ["ir.SequentialSpan", "ir.Span"],
    }
    objects = sorted(
        {*scalars, *STATEMENTS, *FUNCTIONS, *GRAPH_EXPRESSIONS, *TYPES, *OTHERS, *attributes}
        - set(PAYLOADS)
    )
    accepted = set(objects) | set(PAYLOADS)
    return {
        "tvm": tvm.__version__,
        "groups": groups,
        "payloads": PAYLOADS,
        "nodes": {key: _fields(key, accepted) for key in objects},
    }


def _format(schema: dict[str, Any]) -> str:
    """Return the schema as JSON with one line a field, so that differences can be read."""
    sections = []
    for name, value in sorted(schema.items()):
        if name != "nodes":
            sections.append(f"{json.dumps(name)}: {_lines(value, 1)}")
            continue
        tables = (f"  {json.dumps(key)}: {_lines(value[key], 2)}" for key in sorted(value))
        sections.append('"nodes": {\n' + ",\n".join(tables) + "\n }")
    return "{\n " + ",\n ".join(sections) + "\n}\n"


def _lines(value: Any, depth: int) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    pad = " " * (depth + 1)
    rows = (f"{pad}{json.dumps(key)}: {json.dumps(value[key])}" for key in sorted(value))
    return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"


def _fields(owner: str, accepted: set[str]) -> dict[str, Any]:
    """Return the rules of one type's fields, those of its bases first."""
    rules: dict[str, Any] = {}
    info: core.TypeInfo | None = core._lookup_or_register_type_info_from_type_key(owner)
    while info is not None:
        for field in info.fields or ():
            static = json.loads(field.metadata["type_schema"])
            rules[field.name] = _field_rule(owner, field.name, static, accepted)
        info = info.parent_type_info
    return rules


def _field_rule(owner: str, name: str, static: dict[str, Any], accepted: set[str]) -> Any:
    if (owner, name) in OVERRIDES:
        return OVERRIDES[owner, name]
    if static["type"] in INLINE:
        return {"kind": INLINE[static["type"]]}
    rule = _rule(owner, static, accepted)
    if name == "span" or (owner, name) in NULLABLE:
        rule["null"] = True
    return rule


def _rule(owner: str, static: dict[str, Any], accepted: set[str]) -> dict[str, Any]:
    """Return the rule for a reference to a node of a static type."""
    kind, arguments = static["type"], static.get("args", [])
    if kind == "Optional":
        return _rule(owner, arguments[0], accepted) | {"null": True}
    if kind == "ffi.Array":
        return {"kind": "array", "item": _rule(owner, arguments[0], accepted)}
    if kind == "ffi.Map":
        key, item = (_rule(owner, argument, accepted) for argument in arguments)
        return {"kind": "map", "key": key, "item": item}
    if kind == "Any":
        return {"kind": "any"}
    return {"kind": "node", "types": _types(owner, kind, accepted)}


def _types(owner: str, kind: str, accepted: set[str]) -> list[str]:
    """Return the accepted types that a field of static type `kind` may hold."""
    if kind == "ir.Expr":
        return ["@scalar"] if owner.startswith(SCALAR_OWNERS) else ["@expression"]
    scalar = owner.startswith(("prim.", "ir.IntImm", "ir.FloatImm"))
    named = {
        "ir.Span": ["@span"],
        "ir.Type": ["ir.PrimType"] if scalar else ["@type"],
        "tirx.Stmt": ["@statement"],
        "ir.Attrs": ["@attributes"],
        "ffi.BigInt": ["int"],
        "ir.GlobalInfo": ["relax.DummyGlobalInfo"],
    }
    if kind in named:
        return named[kind]
    if kind == "ir.Var" and owner.startswith(SCALAR_OWNERS):
        return ["ir.Var"]
    found = sorted(key for key in accepted if _is_a(key, kind))
    if not found:
        raise SystemExit(f"{owner}: no accepted type is a {kind}")
    return found


def _is_a(key: str, base: str) -> bool:
    info: core.TypeInfo | None = core._lookup_or_register_type_info_from_type_key(key)
    while info is not None:
        if str(info.type_key) == base:
            return True
        info = info.parent_type_info
    return False


if __name__ == "__main__":
    sys.exit(main())
