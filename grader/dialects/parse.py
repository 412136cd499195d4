"""Statements of a cell to LibCST's trees, within bounds: what is read here was written by anybody.

LibCST's parser is native code and ends the process when its stack overflows. Python's own refuses
to nest too deep. So Python's reads a cell first (`grader.python_cells`); of a statement that is
small and flat enough, and that has a word of the table, LibCST then makes the tree with comments
and spaces.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

import libcst
import msgspec

from grader.language import say
from grader.python_cells import NotParsedError

NODE_LIMIT = 20_000
"""Most nodes of a statement: LibCST takes about 0.1 ms for each."""

DEPTH_LIMIT = 80
"""Deepest nesting of a statement. LibCST takes 0.3 s for 90 nested calls, and overflows its stack
somewhere between 1000 and 20,000."""

CHAIN_LIMIT = 1000
"""Most operands of one `and`, or targets of one `=`: LibCST's tree is as deep as there are some."""

_TOO_DEEP = say("it nests too deep, or it is too long")


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
        raise NotParsedError(say("it is Python that LibCST does not read")) from None


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
