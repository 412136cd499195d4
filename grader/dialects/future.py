"""Imports from `__future__` in the middle of a cell: IPython takes them there, Python does not."""

from __future__ import annotations

import ast

from grader.dialects.edits import Edit, Offsets
from grader.dialects.table import by_id


def move_future_imports(source: str, module: ast.Module, offsets: Offsets) -> list[Edit]:
    """Return the edits that move such imports of a cell before its first other statement."""
    body = module.body
    docstring = bool(body) and _is_text(body[0])
    rest = body[docstring:]
    first = next((node for node in rest if not _is_future(node)), None)
    if first is None:
        return []
    late = [node for node in rest[rest.index(first) :] if _is_future(node)]
    lines = source.split("\n")
    whole = [node for node in late if _has_its_lines(node, lines)]
    row = by_id()["future-import"].id
    decorators: list[ast.expr] = getattr(first, "decorator_list", [])
    place = offsets.at(min([first.lineno, *(each.lineno for each in decorators)]), 0)
    edits: list[Edit] = []
    for number, node in enumerate(whole):
        start = offsets.at(node.lineno, 0)
        last = node.end_lineno or node.lineno
        end = offsets.at(last + 1, 0)
        text = source[start:end].rstrip("\r\n")
        edits.append(Edit(place, place, number - len(whole), f"{text}\n", row))
        if last == len(lines):  # no line end follows, so the one before it goes
            start -= 1
        edits.append(Edit(start, end, 0, "", row))
    return edits


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _has_its_lines(node: ast.stmt, lines: list[str]) -> bool:
    """Say whether nothing but the statement is on its lines, but for a comment."""
    before = lines[node.lineno - 1][: node.col_offset]
    last = lines[(node.end_lineno or node.lineno) - 1]
    after = last.encode()[node.end_col_offset or 0 :].decode().strip()
    return not before.strip() and (not after or after.startswith("#"))
