"""Names of TVM that a notebook uses and that are nowhere: neither in the table nor in today's TVM.

`names.json`, made by `tools/make_tvm_names.py`, says what today's TVM has, so that it need not be
imported. Nothing is said of what is not certain: of attributes of classes and values, and of
modules that were not looked into.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from grader.decoding import prepared
from grader.dialects.names import Names, as_of_old, today
from grader.dialects.table import gone
from grader.language import say

WHY = say("neither today's TVM nor the migration table has it")

_Scope = frozenset[str]


@cache
def _modules() -> dict[str, frozenset[str] | None]:
    content = Path(__file__).with_name("names.json").read_bytes()
    return msgspec.json.decode(content, type=prepared(dict[str, frozenset[str] | None]))


def is_unknown(full: str) -> bool:
    """Say whether a dotted name from `tvm` on is surely in no module of today's TVM."""
    modules = _modules()
    parts = full.split(".")
    for length in range(1, len(parts)):
        if ".".join(parts[: length + 1]) not in modules:
            names = modules.get(".".join(parts[:length]))
            private = parts[length].startswith("_")
            return names is not None and not private and parts[length] not in names
    return False


def unknown_names(module: ast.Module, names: Names) -> list[tuple[int, str]]:
    """Return the unknown names of a cell as it is written: line and name, each name once."""
    found: dict[str, int] = {}
    for line, written, full in sorted(_uses(module, names, frozenset(names.assigned))):
        spelt = today(full)
        if gone(full) is None and is_unknown(spelt):
            found.setdefault(written, line)
    return [(line, written) for written, line in found.items()]


def _uses(node: ast.AST, names: Names, hidden: _Scope) -> Iterator[tuple[int, str, str]]:
    """Yield the dotted names of TVM below a node: line, as written, and from `tvm` on.

    `hidden` are names that mean something else here.
    """
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for written in filter(_is_tvm, _imported(node)):
            yield node.lineno, written, as_of_old(written)
        return
    if isinstance(node, ast.Attribute):
        written = _dotted(node)
        if written:
            full = None if written.split(".")[0] in hidden else names.full(written)
            if full is not None and isinstance(node.ctx, ast.Load):
                yield node.lineno, written, full
            return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        hidden |= _own(node)
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, names, hidden)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the dotted names that an import asks for."""
    names = [alias.name for alias in node.names if alias.name != "*"]
    if isinstance(node, ast.Import):
        return names
    return [] if node.level else [f"{node.module}.{name}" for name in names]


def _is_tvm(name: str) -> bool:
    return name == "tvm" or name.startswith("tvm.")


def _dotted(node: ast.expr) -> str:
    """Return a dotted name, empty for what is none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _own(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> _Scope:
    """Return the names that a function binds: its parameters, and what it assigns."""
    nodes = list(ast.walk(function))
    parameters = {each.arg for each in nodes if isinstance(each, ast.arg)}
    stored = {
        each.id
        for each in nodes
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }
    return frozenset(parameters | stored)
