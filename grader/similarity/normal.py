"""Code without what a copy changes first: names, numbers, texts, comments, layout."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from grader.python_cells import NotParsedError, is_foreign, mask, parse

_DEEPEST = 60
"""Levels of a tree that are read: what lies deeper is one thing."""


class Digest(NamedTuple):
    """What a piece of code is but for names and numbers, and how many nodes it has."""

    key: int
    size: int


def parsed(source: str) -> ast.Module | None:
    """Return the tree of a cell without its magics; None for what is no Python, or too long."""
    try:
        return None if is_foreign(source) else parse(mask(source))
    except NotParsedError:
        return None


def bound_names(trees: Iterable[ast.Module]) -> tuple[frozenset[str], dict[str, str]]:
    """Return the names that cells bind themselves, and what imported names stand for.

    Of the former nothing is kept; a function of a library stays what it is, whatever it is called.
    """
    bound: set[str] = set()
    imported: dict[str, str] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                bound.add(node.name)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imported.update(_imported(node))
    return frozenset(bound - imported.keys()), imported


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    above = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
    for each in node.names:
        name = each.asname or each.name.split(".")[0]
        yield name, above + each.name if each.asname or above else name


def hashed(*parts: object) -> int:
    """Return a number of 63 bits for what is put together of these."""
    found = hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(found, "big") >> 1


class Normal:
    """Digests the code of one work."""

    def __init__(self, bound: frozenset[str], imported: dict[str, str]) -> None:
        self._bound = bound
        self._imported = imported

    def of(self, node: ast.AST, depth: int = 0) -> Digest:
        """Return the digest of a node with all that is below it."""
        if isinstance(node, ast.Name):
            return Digest(hashed(self._name(node.id)), 1)
        if isinstance(node, ast.Constant):
            return Digest(hashed(self._constant(node.value)), 1)
        if depth > _DEEPEST:
            return Digest(hashed(type(node).__name__), 1)
        return self._tree(node, depth)

    def head(self, node: ast.stmt) -> Digest:
        """Return the digest of a statement without the statements in it."""
        return self._tree(node, 0, ("body", "orelse", "finalbody", "handlers"))

    def _tree(self, node: ast.AST, depth: int, without: tuple[str, ...] = ()) -> Digest:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            sides = [self.of(each, depth + 1) for each in (node.left, node.right)]
            keys = sorted(each.key for each in sides)  # whichever stands first
            return Digest(
                hashed("both", type(node.op).__name__, keys), 1 + sum(e.size for e in sides)
            )
        parts: list[object] = [type(node).__name__]
        size = 1
        for name, value in ast.iter_fields(node):
            if name in ("ctx", "type_comment", "kind", "returns", "annotation", *without):
                continue
            values = value if isinstance(value, list) else [value]
            told: list[object] = []
            for each in values:
                if isinstance(each, ast.AST):
                    if _is_text(each):
                        continue
                    found = self.of(each, depth + 1)
                    told.append(found.key)
                    size += found.size
                elif isinstance(each, str) and name in ("attr", "module"):
                    told.append(each)
                elif isinstance(each, str) and (name != "arg" or isinstance(node, ast.keyword)):
                    told.append(self._name(each))
            parts.append((name, told))
        return Digest(hashed(*parts), size)

    def _name(self, name: str) -> str:
        return "?" if name in self._bound else self._imported.get(name, name)

    def _constant(self, value: object) -> object:
        if isinstance(value, bool) or value is None or value is Ellipsis:
            return str(value)
        return "text" if isinstance(value, str | bytes) else "number"


def _is_text(node: ast.AST) -> bool:
    """Say whether a statement is a text alone: a comment, to all that runs it."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
