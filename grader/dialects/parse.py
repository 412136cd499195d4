"""Statements of a cell to LibCST's trees, within bounds: what is read here was written by anybody.

LibCST's parser is native code and ends the process when its stack overflows. Python's own refuses
to nest too deep. So Python's reads a cell first (`grader.python_cells`); of a statement that is
small and flat enough, and that has a word of the table, LibCST then makes the tree with comments
and spaces.
"""

import ast
import itertools
from collections.abc import Iterator

import libcst
import msgspec

from grader.dialects.statement import Edit, Offsets
from grader.dialects.table import by_id
from grader.language import say
from grader.python_cells import NotParsedError

NODE_LIMIT = 20_000
"""Most nodes of a statement: LibCST takes about 0.1 ms for each."""

DEPTH_LIMIT = 80
"""Deepest nesting of a statement. LibCST takes 0.3 s for 90 nested calls, and overflows its stack
somewhere between 1000 and 20,000."""

CHAIN_LIMIT = 1000
"""Most operands of one `and`, or targets of one `=`: LibCST's tree is as deep as there are some."""

_TOO_DEEP = say("nested-too-deeply-or-too-long")


class Statement(msgspec.Struct, frozen=True):
    """A statement at the top of a cell, or several that share a line. Both lines count from 1."""

    first: int
    last: int
    nodes: tuple[ast.stmt, ...]


def statements(module: ast.Module) -> Iterator[Statement]:
    """Return the statements of a cell; those that share a line are one."""
    last: Statement | None = None
    for node in module.body:
        first = min([node.lineno, *(each.lineno for each in _decorators(node))])
        end = node.end_lineno or node.lineno
        if last is not None and first <= last.last:
            last = Statement(last.first, max(last.last, end), (*last.nodes, node))
            continue
        if last is not None:
            yield last
        last = Statement(first, end, (node,))
    if last is not None:
        yield last


def parse_exactly(text: str, nodes: tuple[ast.stmt, ...]) -> libcst.Module:
    """Make LibCST's tree of a statement that Python's parser has read. Raises NotParsedError."""
    _check_shape(nodes)
    try:
        return libcst.parse_module(text)
    except (libcst.ParserSyntaxError, RecursionError):
        raise NotParsedError(say("python-that-libcst-does-not-read")) from None


def _decorators(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.decorator_list
    return []


def work_of(nodes: tuple[ast.stmt, ...]) -> int:
    """Return how many nodes statements have; none where they are too many to be looked at."""
    walk = itertools.chain.from_iterable(map(ast.walk, nodes))
    count = sum(1 for _ in itertools.islice(walk, NODE_LIMIT + 1))
    return 0 if count > NODE_LIMIT else count


def _check_shape(nodes: tuple[ast.stmt, ...]) -> None:
    level: list[ast.AST] = list(nodes)
    count = depth = 0
    while level:
        depth += 1
        count += len(level)
        if depth > DEPTH_LIMIT or count > NODE_LIMIT:
            raise NotParsedError(_TOO_DEEP)
        children: list[ast.AST] = []
        for node in level:
            below = list(ast.iter_child_nodes(node))
            if len(below) > CHAIN_LIMIT and not isinstance(node, (ast.List, ast.Dict)):
                raise NotParsedError(_TOO_DEEP)
            children.extend(below)
        level = children


# Imports from `__future__` in the middle of a cell: IPython takes them there, Python does not.


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
