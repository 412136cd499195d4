"""The fragments of a work: statements, their neighbours, steps of schedules, functions as graded.

They do not depend on the order of cells, nor, of schedules, on the order of steps that are free.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from grader.python_cells import NotParsedError, is_foreign, mask, parse
from grader.report import Cell, Frozen, Part

# Code without what a copy changes first: names, numbers, texts, comments, layout.


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


FragmentKind = Literal["code", "schedule", "ir"]

_SMALLEST = 7
"""Nodes of a statement below which everybody writes the same: `x = f(y)` has six."""

_MOST = 4_000
"""Fragments of a work that are compared: a long notebook of an honest student has some hundred."""

_NODES = 50_000
"""Nodes of a work's trees that are looked at: the solved notebooks of the course have some 4000."""

_LEVELS = 6
"""Blocks within blocks that are also compared as a whole."""

_STEPS = """
annotate bind blockize cache_read cache_write compute_at compute_inline decompose_padding
decompose_reduction fuse get_block get_child_blocks get_consumers get_loops get_producers
get_sblock loop_partition merge pad_einsum parallel reindex reorder reverse_compute_at
reverse_compute_inline rfactor set_scope split storage_align tensorize transform_layout
unannotate unroll vectorize
"""
STEPS = frozenset(_STEPS.split())
"""Methods of a schedule, by which its steps are known."""


class Fragment(NamedTuple):
    """A fragment: where it stands, in which cell of the work, from 0, on which lines, from 1."""

    key: int
    kind: FragmentKind
    size: int
    cell: int
    first: int
    last: int


class Writing(Frozen, frozen=True):
    """What one student wrote: `sources` are the cells, with each one's number for people."""

    id: str
    name: str
    page: str
    sources: tuple[str, ...]
    numbers: tuple[int, ...]
    fragments: tuple[Fragment, ...]


def writing_of(
    id: str, name: str, page: str, cells: Iterable[Cell], parts: Iterable[Part] = ()
) -> Writing:
    """Return what a student wrote beyond the cells of the handout, in fragments.

    `parts` are those of the report: functions as TVM printed them after the schedule are compared,
    too, and have no place among the cells.
    """
    own = [each for each in cells if each.kind == "code" and not each.given]
    sources = tuple(each.source for each in own)
    found = (*islice(fragments_of(sources), _MOST), *_functions(parts))
    numbers = tuple(each.number or 0 for each in own)
    return Writing(id, name, page, sources, numbers, found)


def given_keys(sources: Iterable[str]) -> frozenset[int]:
    """Return what fragments of given texts are known by: nobody copied them from a neighbour."""
    return frozenset(each.key for each in fragments_of(tuple(sources)))


def fragments_of(sources: tuple[str, ...]) -> Iterator[Fragment]:
    """Yield the fragments of cells, in order."""
    known = [*_trees(sources)]
    normal = Normal(*bound_names(tree for _, tree in known))
    for place, tree in known:
        yield from _blocks(tree, normal, place)
        yield from _steps(tree, place)


def _trees(sources: tuple[str, ...]) -> Iterator[tuple[int, ast.Module]]:
    """Yield the trees of cells with their places, as long as there is room for all their nodes."""
    room = _NODES
    for place, source in enumerate(sources):
        tree = parsed(source)
        if tree is None:
            continue
        room -= sum(1 for _ in islice(ast.walk(tree), room + 1))
        if room < 0:
            return
        yield place, tree


def _blocks(tree: ast.Module, normal: Normal, cell: int) -> Iterator[Fragment]:
    waiting: list[tuple[int, list[ast.stmt]]] = [(0, tree.body)]
    while waiting:
        level, block = waiting.pop()
        heads = [normal.head(each) for each in block]
        for each, head in zip(block, heads, strict=True):
            yield from _of_statement(each, head, normal, cell, whole=level < _LEVELS)
            waiting += ((level + 1, inner) for inner in _within(each))
        for one, other, a, b in zip(block, block[1:], heads, heads[1:], strict=False):
            size = a.size + b.size
            if min(a.size, b.size) > 3 and size >= 2 * _SMALLEST:
                key = hashed("both", a.key, b.key)
                last = _end(other) if not _within(other) else other.lineno
                yield Fragment(key, "code", size, cell, one.lineno, last)


def _of_statement(
    node: ast.stmt, head: Digest, normal: Normal, cell: int, *, whole: bool
) -> Iterator[Fragment]:
    inner = _within(node)
    if head.size >= _SMALLEST:
        last = inner[0][0].lineno - 1 if inner else _end(node)
        yield Fragment(head.key, "code", head.size, cell, node.lineno, max(last, node.lineno))
    if inner and whole:
        found = normal.of(node)
        if found.size >= 3 * _SMALLEST:
            key = hashed("whole", found.key)
            yield Fragment(key, "code", found.size, cell, node.lineno, _end(node))


def _within(node: ast.stmt) -> list[list[ast.stmt]]:
    fields = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    found = [block for block in fields if isinstance(block, list) and block]
    handlers = getattr(node, "handlers", [])
    return found + [each.body for each in handlers]


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _steps(tree: ast.Module, cell: int) -> Iterator[Fragment]:
    """Yield the steps of schedules: each by its method and by the steps that made what it takes.

    So a schedule is the same under other names, with other factors, and with steps exchanged that
    do not need each other.
    """
    made: dict[str, int] = {}
    depth: dict[int, int] = {}
    for node in _statements(tree.body):
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            continue
        method = value.func.attr
        if method not in STEPS:
            continue
        taken = [_taken(each, made) for each in (*value.args, *(k.value for k in value.keywords))]
        key = hashed("step", method, taken)
        depth[key] = 1 + max((depth.get(each, 0) for each in _numbers(taken)), default=0)
        for name, place in _targets(node):
            made[name] = hashed(key, place)
            depth[made[name]] = depth[key]
        if depth[key] > 2:  # `get_block` and `get_loops` are how every schedule begins
            yield Fragment(key, "schedule", 6 + 3 * depth[key], cell, node.lineno, _end(node))


def _statements(block: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements with those within them, in order: an `elif` lies in the one before it."""
    waiting = [iter(block)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
            continue
        yield node
        waiting += map(iter, reversed(_within(node)))


def _taken(node: ast.expr, made: dict[str, int]) -> object:
    if isinstance(node, ast.Name):
        return made.get(node.id, "?")
    if isinstance(node, ast.List | ast.Tuple):
        return [_taken(each, made) for each in node.elts]
    if isinstance(node, ast.Starred):
        return ["*", _taken(node.value, made)]
    if isinstance(node, ast.Subscript):
        at = node.slice.value if isinstance(node.slice, ast.Constant) else "?"
        return ["at", _taken(node.value, made), at]
    return "number" if isinstance(node, ast.Constant) else type(node).__name__


def _numbers(taken: object) -> Iterator[int]:
    if isinstance(taken, list):
        for each in taken:
            yield from _numbers(each)
    elif isinstance(taken, int):
        yield taken


def _targets(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Yield the names that a step's results are given, each with its place among them."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        for place, each in enumerate(items):
            if isinstance(each, ast.Name):
                yield each.id, place if len(items) > 1 else -1


def _functions(parts: Iterable[Part]) -> Iterator[Fragment]:
    """Yield the functions that were graded, as they are after their schedules."""
    for part in parts:
        tree = None if part.scripts is None else parsed(part.scripts.after)
        if tree is None:
            continue
        whole = Normal(*bound_names([tree])).of(tree)
        if whole.size >= 3 * _SMALLEST:
            yield Fragment(hashed("ir", part.id, whole.key), "ir", whole.size, -1, 0, 0)
