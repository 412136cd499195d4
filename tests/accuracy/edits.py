"""Small random edits of a solved notebook's text: mistakes that nobody chose.

An edit changes one operator, constant, index, argument, name, word or statement. Most of them mean
nothing to whoever makes them: what they do shows when they are run.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Edit(NamedTuple):
    """A cell's text with one change, the line that changed, from 1, and the change in words."""

    source: str
    line: int
    about: str


_OPERATORS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Add: ("-", "*"),
    ast.Sub: ("+",),
    ast.Mult: ("+", "/"),
    ast.Div: ("*",),
    ast.FloorDiv: ("%",),
    ast.Mod: ("//",),
    ast.MatMult: ("*",),
    ast.LShift: (">>",),
    ast.RShift: ("<<",),
    ast.Lt: ("<=", ">"),
    ast.Gt: (">=", "<"),
    ast.LtE: ("<",),
    ast.GtE: (">",),
    ast.Eq: ("!=",),
}

_NAMES = (
    ("max", "min", "sum"),
    ("maximum", "minimum"),
    ("relu", "sigmoid", "tanh", "silu", "gelu"),
    ("add", "subtract", "multiply"),
    ("exp", "log", "sqrt"),
    ("softmax", "log_softmax"),
    ("mean", "sum"),
    ("rows", "columns"),
)
"""Names of functions that are taken for one another."""

_WORDS = (("max", "avg"), ("NCHW", "NHWC"), ("float32", "float16"), ("SSR", "SSS"))


def edits(source: str, generator: random.Random) -> Iterator[Edit]:
    """Yield different edits of a cell's text, in a random order; none of IPython's own syntax."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    text = _Text(source)
    found = [each for node in ast.walk(tree) for each in _of(node, text, tree)]
    yield from _drawn(found, source, generator)


def _drawn(found: list[Edit], source: str, generator: random.Random) -> Iterator[Edit]:
    generator.shuffle(found)
    seen = {source}
    for edit in found:
        if edit.source not in seen and _is_python(edit.source):
            seen.add(edit.source)
            yield edit


_TAGS = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y")
_SCOPES = ("local", "shared", "global")


def kernel_edits(source: str, generator: random.Random) -> Iterator[Edit]:
    """Yield edits of a kernel, or of a schedule of one, in a random order.

    They are those of any cell, and of what only kernels have: axes of threads, scopes of memory,
    conditions at edges, barriers that are left out or moved.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    text = _Text(source)
    found = [each for node in ast.walk(tree) for each in _of(node, text, tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            for group in (_TAGS, _SCOPES):
                others = group if node.value in group else ()
                found += [text.replaced(node, repr(e)) for e in others if e != node.value]
        if isinstance(node, ast.If):
            found += [*_statements(node.body, text), _unconditional(node, text)]
    found += _moved_barriers(source)
    yield from _drawn(found, source, generator)


def _unconditional(node: ast.If, text: _Text) -> Edit:
    """Return the edit that does the body of a condition in any case."""
    indent = " " * node.col_offset
    body = [ast.unparse(each).replace("\n", f"\n{indent}") for each in node.body]
    edit = text.replaced(node, f"\n{indent}".join(body))
    return edit._replace(about=f"`if {_short(text.of(node.test))}` is left out")


def is_barrier(node: ast.AST) -> bool:
    """Say whether a statement is a barrier."""
    return isinstance(node, ast.Expr) and "tvm_storage_sync" in ast.unparse(node.value)


def _moved_barriers(source: str) -> Iterator[Edit]:
    """Yield edits that put a barrier to another place among the statements around it."""
    count = sum(map(is_barrier, ast.walk(ast.parse(source))))
    for number in range(count):
        for move in ("before", "behind", "into", "out"):
            tree = ast.parse(source)
            parents = {c: p for p in ast.walk(tree) for c in ast.iter_child_nodes(p)}
            barrier = [each for each in ast.walk(tree) if is_barrier(each)][number]
            if _move(barrier, move, parents):
                about = f"barrier {number + 1} moves {move}"
                line = getattr(barrier, "lineno", 1)
                yield Edit(ast.unparse(ast.fix_missing_locations(tree)), line, about)


def _move(barrier: Any, move: str, parents: dict[Any, Any]) -> bool:
    parent = parents[barrier]
    body: list[Any] = parent.body
    at = body.index(barrier)
    if move in ("before", "behind"):
        other = at - 1 if move == "before" else at + 1
        if not 0 <= other < len(body):
            return False
        body[at], body[other] = body[other], body[at]
        return True
    if move == "into":
        if not at or not isinstance(body[at - 1], ast.For | ast.If):
            return False
        body[at - 1].body.append(barrier)
        del body[at]
        return True
    if not isinstance(parent, ast.For | ast.If) or len(body) < 2:
        return False
    outer = parents[parent].body
    outer.insert(outer.index(parent) + 1, barrier)
    del body[at]
    return True


class _Text:
    """A cell's text, of which nodes of its tree can be replaced."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends, in bytes."""
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        begin, end = self.span(node)
        return self.source.encode()[begin:end].decode()

    def replaced(self, node: ast.expr | ast.stmt, new: str) -> Edit:
        """Return the edit that replaces a node."""
        begin, end = self.span(node)
        data = self.source.encode()
        changed = data[:begin] + new.encode() + data[end:]
        about = f"`{_short(self.of(node))}` becomes `{_short(new)}`"
        return Edit(changed.decode(), node.lineno, about)


def _of(node: ast.AST, text: _Text, tree: ast.AST) -> Iterator[Edit]:
    for kinds, make in _KINDS:
        if isinstance(node, kinds):
            yield from make(node, text)
    if isinstance(node, ast.FunctionDef):
        yield from _names(node, text)
        yield from _statements(node.body, text)
    if node is tree:
        assert isinstance(node, ast.Module)
        yield from _statements(node.body, text)
    if isinstance(node, ast.For | ast.With):
        yield from _statements(node.body, text)


def _operators(node: ast.BinOp, text: _Text) -> Iterator[Edit]:
    left, right = text.of(node.left), text.of(node.right)
    for new in _OPERATORS.get(type(node.op), ()):
        yield text.replaced(node, f"({left}) {new} ({right})")
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult | ast.LShift | ast.RShift):
        yield text.replaced(node, f"({right}) {_sign(node, text)} ({left})")
    yield text.replaced(node, left)
    yield text.replaced(node, right)


def _sign(node: ast.BinOp, text: _Text) -> str:
    between = text.span(node.left)[1], text.span(node.right)[0]
    found = text.source.encode()[slice(*between)].decode()
    return found.strip(" ()\n")


def _comparisons(node: ast.Compare, text: _Text) -> Iterator[Edit]:
    left, right = text.of(node.left), text.of(node.comparators[0])
    for new in _OPERATORS.get(type(node.ops[0]), ()) if len(node.ops) == 1 else ():
        yield text.replaced(node, f"{left} {new} {right}")


def _constants(node: ast.Constant, text: _Text) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from (text.replaced(node, str(n)) for n in (value + 1, value - 1, 2 * value))
    elif isinstance(value, float):
        yield from (text.replaced(node, repr(x)) for x in (2 * value, value + 1.0, -value))
    elif isinstance(value, str):
        for group in _WORDS:
            for new in group if value in group else ():
                yield text.replaced(node, repr(new))
        if len(value) > 1 and set(value) == set("SR"):
            yield text.replaced(node, repr(value[::-1]))


def _subscripts(node: ast.Subscript, text: _Text) -> Iterator[Edit]:
    if isinstance(node.slice, ast.Tuple):
        base, items = text.of(node.value), [text.of(each) for each in node.slice.elts]
        for new in _exchanged(items):
            yield text.replaced(node, f"{base}[{', '.join(new)}]")


def _calls(node: ast.Call, text: _Text) -> Iterator[Edit]:
    callee = text.of(node.func)
    words = [f"{each.arg}={text.of(each.value)}" for each in node.keywords]
    items = [text.of(each) for each in node.args]
    for new in _exchanged(items):
        yield text.replaced(node, f"{callee}({', '.join((*new, *words))})")
    before, dot, name = callee.rpartition(".")
    for group in _NAMES:
        for other in group if name in group else ():
            yield text.replaced(node.func, before + dot + other)
    if len(items) == 1 and not words:
        yield text.replaced(node, items[0])


def _tuples(node: ast.Tuple | ast.List, text: _Text) -> Iterator[Edit]:
    brackets = "[]" if isinstance(node, ast.List) else "()"
    if not text.of(node).startswith(brackets[0]):  # an index, which is exchanged already
        return
    for new in _exchanged([text.of(each) for each in node.elts]):
        yield text.replaced(node, f"{brackets[0]}{', '.join(new)}{brackets[1]}")


def _exchanged(items: list[str]) -> Iterator[list[str]]:
    for at in range(len(items) - 1):
        if items[at] != items[at + 1]:
            yield [*items[:at], items[at + 1], items[at], *items[at + 2 :]]


def _names(node: ast.FunctionDef, text: _Text) -> Iterator[Edit]:
    """Read another variable of the function than the right one."""
    uses = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    bound = sorted({each.id for each in uses if isinstance(each.ctx, ast.Store)})
    bound += [each.arg for each in node.args.args]
    for use in uses:
        if isinstance(use.ctx, ast.Load) and use.id in bound:
            place = bound.index(use.id)
            yield from (text.replaced(use, each) for each in bound[max(0, place - 1) : place + 2])


def _statements(body: list[ast.stmt], text: _Text) -> Iterator[Edit]:
    for at, node in enumerate(body):
        if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.With):
            yield text.replaced(node, "pass")
        following = body[at + 1] if at + 1 < len(body) else None
        simple = ast.Expr | ast.Assign | ast.AugAssign
        if isinstance(node, simple) and isinstance(following, simple):
            joined = text.source.encode()
            first, second = text.span(node), text.span(following)
            changed = (
                joined[: first[0]]
                + joined[slice(*second)]
                + joined[first[1] : second[0]]
                + joined[slice(*first)]
                + joined[second[1] :]
            )
            about = f"`{_short(text.of(following))}` stands before `{_short(text.of(node))}`"
            yield Edit(changed.decode(), node.lineno, about)


_KINDS: tuple[tuple[type[ast.AST] | tuple[type[ast.AST], ...], Callable[..., Iterator[Edit]]], ...]
_KINDS = (
    (ast.BinOp, _operators),
    (ast.Compare, _comparisons),
    (ast.Constant, _constants),
    (ast.Subscript, _subscripts),
    (ast.Call, _calls),
    ((ast.Tuple, ast.List), _tuples),
)


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 70 else f"{words[:67]}..."
