"""Mutants of functions that compute with NumPy: the text of the solved notebook, changed.

Each mutant is a cell that defines the entry point once more, and every function of the notebook
that it calls, one of them with a mistake. So one run of the notebook with all these cells at its
end shows what each of them does.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

from grader.assignment import PartTable
from grader.messages.runner import Mutation, MutationKind

Definition = ast.FunctionDef

HALF = "{0}.astype('float16').astype({0}.dtype)"
"""What rounds an array to float16 and back."""


class PythonMutant(NamedTuple):
    """A mutant and the cell that makes it."""

    mutation: Mutation
    cell: str


def python_mutants(sources: tuple[str, ...], part: PartTable, limit: int) -> list[PythonMutant]:
    """Return the mutants of a part's function, at most `limit` of each kind; none without one."""
    functions = _definitions(sources)
    entry = next(filter(part.asks_for, reversed(functions)), None)
    if entry is None:
        return []
    needed = _called(entry, functions)
    found: list[PythonMutant] = []
    for kind, changes in _KINDS.items():
        made = [
            PythonMutant(Mutation(kind, name, "", f"in {name}, {about}"), _cell(needed, changed))
            for name in needed
            for about, changed in changes(functions[name], name == entry)
        ]
        found += made[:limit]
    return found


def _definitions(sources: tuple[str, ...]) -> dict[str, Definition]:
    """Return the functions that cells define at top level; of equal names the last one."""
    found: dict[str, Definition] = {}
    for source in sources:
        for node in _parse(source):
            if isinstance(node, ast.FunctionDef):
                found.pop(node.name, None)
                found[node.name] = node
    return found


def _parse(source: str) -> list[ast.stmt]:
    """Return the statements of a cell; none of one with IPython's own syntax."""
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


def _called(entry: str, functions: dict[str, Definition]) -> dict[str, Definition]:
    """Return a function and all of the notebook's that it uses, callees first."""
    order: dict[str, Definition] = {}
    pending: list[str] = []

    def visit(name: str) -> None:
        if name in order or name in pending:
            return
        pending.append(name)
        for node in ast.walk(functions[name]):
            if isinstance(node, ast.Name) and node.id in functions:
                visit(node.id)
        order[name] = functions[name]

    visit(entry)
    return order


def _cell(needed: dict[str, Definition], changed: Definition) -> str:
    texts = [ast.unparse(changed if name == changed.name else needed[name]) for name in needed]
    return "\n\n\n".join(texts) + "\n"


Changes = Callable[[Definition, bool], Iterator[tuple[str, Definition]]]
"""(a function, whether it is the entry point) to clauses and changed functions."""


def _drop_bias(function: Definition, _is_entry: bool) -> Iterator[tuple[str, Definition]]:
    def is_sum(node: ast.AST) -> bool:
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)

    for changed, node in _each(function, is_sum):
        assert isinstance(node, ast.BinOp)
        if _in_index(changed, node) or isinstance(node.right, ast.Constant):
            continue
        about = f"`+ {ast.unparse(node.right)}` is left out"
        yield about, _replaced(changed, node, node.left)
    for changed, node in _each(function, lambda node: isinstance(node, ast.AugAssign)):
        assert isinstance(node, ast.AugAssign)
        if isinstance(node.op, ast.Add) and not _loops_around(changed, node):
            yield (
                f"`+= {ast.unparse(node.value)}` is left out",
                _replaced(changed, node, ast.Pass()),
            )


def _off_by_one(function: Definition, _is_entry: bool) -> Iterator[tuple[str, Definition]]:
    for changed, node in reversed(list(_each(function, _is_range))):  # inner loops are the sums
        assert isinstance(node, ast.Call)
        place = 0 if len(node.args) == 1 else 1
        text = ast.unparse(node)
        node.args[place] = ast.BinOp(node.args[place], ast.Sub(), ast.Constant(1))
        yield f"`{text}` ends one early", ast.fix_missing_locations(changed)


def _results(change: str, about: str) -> Changes:
    """Return the mutation of what the entry point returns, or writes into its last argument."""

    def changes(function: Definition, is_entry: bool) -> Iterator[tuple[str, Definition]]:
        names = [argument.arg for argument in function.args.args]
        if not is_entry or not names:
            return
        changed = copy.deepcopy(function)
        returns = [node for node in ast.walk(changed) if isinstance(node, ast.Return)]
        returns = [node for node in returns if node.value is not None]
        for node in returns:
            assert node.value is not None
            text = change.format(
                f"__import__('numpy').asarray({ast.unparse(node.value)})", names[0]
            )
            node.value = ast.parse(text, mode="eval").body
        if not returns:
            out = names[-1]
            changed.body += ast.parse(f"{out}[...] = {change.format(out, names[0])}").body
        yield about, ast.fix_missing_locations(changed)

    return changes


_ZEROS = "__import__('numpy').zeros_like({0})"
_INPUT = "__import__('numpy').resize({1}, {0}.shape).astype({0}.dtype)"
_KINDS: dict[MutationKind, Changes] = {
    "drop_bias": _drop_bias,
    "off_by_one": _off_by_one,
    "float16": _results(HALF, "the result is rounded to float16"),
    "return_zeros": _results(_ZEROS, "zeros are returned"),
    "return_input": _results(_INPUT, "the first argument is returned"),
}


def _each(
    function: Definition, wanted: Callable[[ast.AST], bool]
) -> Iterator[tuple[Definition, ast.AST]]:
    """Return a fresh copy of the function for each wanted node, with that node."""
    count = sum(wanted(node) for node in ast.walk(function))
    for number in range(count):
        changed = copy.deepcopy(function)
        yield changed, [node for node in ast.walk(changed) if wanted(node)][number]


def _replaced(function: Definition, old: ast.AST, new: ast.AST) -> Definition:
    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    changed = Replace().visit(function)
    assert isinstance(changed, ast.FunctionDef)
    return ast.fix_missing_locations(changed)


def _in_index(function: Definition, wanted: ast.AST) -> bool:
    """Say whether a node is part of an index or of a loop's bounds, where a sum is no bias."""
    inside: list[ast.AST] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript):
            inside.append(node.slice)
        elif _is_range(node):
            inside.append(node)
    return any(each is wanted for root in inside for each in ast.walk(root))


def _is_range(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    )


def _loops_around(function: Definition, wanted: ast.AST) -> bool:
    """Say whether `x[i] += ...` sums up: its innermost loop's variable is not in its index."""
    loops = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.For) and any(each is wanted for each in ast.walk(node))
    ]
    if not loops or not isinstance(wanted, ast.AugAssign):
        return False
    used = {node.id for node in ast.walk(wanted.target) if isinstance(node, ast.Name)}
    inner = {node.id for node in ast.walk(loops[-1].target) if isinstance(node, ast.Name)}
    return not inner & used
