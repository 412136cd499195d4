"""Going on after an import that failed: one missing package cost all that its cell imports.

In a cell of imports every statement that fails is passed over; in other cells, imports and magics
alone. The cell counts as failed all the same, by its first error: that is the root of what follows.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

_IMPORTS = (ast.Import, ast.ImportFrom)


def install(shell: Any) -> None:
    """Have a shell run the cells that import statement by statement."""
    original = shell.run_ast_nodes

    async def run_ast_nodes(
        nodelist: list[ast.stmt],
        cell_name: str,
        interactivity: str = "last_expr",
        compiler: Any = compile,
        result: Any = None,
    ) -> bool:
        first: tuple[Any, Any] | None = None
        every = is_cell_of_imports(nodelist)
        for nodes, is_passed_over in _sections(nodelist, every):
            shown = interactivity if nodes[-1] is nodelist[-1] else "none"
            if await original(nodes, cell_name, shown, compiler, result):
                first = first or (result.error_in_exec, shell._last_traceback)
                if not (is_passed_over and _is_plain(result)):
                    break
        if first is not None and _is_plain(result):
            result.error_in_exec, shell._last_traceback = first
        return first is not None

    shell.run_ast_nodes = run_ast_nodes


def _sections(nodes: list[ast.stmt], every: bool) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Divide statements, so that each that may fail is by itself; tells whether it may."""
    for may_fail, group in itertools.groupby(nodes, lambda node: every or _is_passed_over(node)):
        if may_fail:
            yield from (([node], True) for node in group)
        else:
            yield list(group), False


def _is_plain(result: Any) -> bool:
    """Say whether a cell failed by an error: no interrupt, no exit, nothing that cannot be run."""
    return result.error_before_exec is None and isinstance(result.error_in_exec, Exception)


def is_cell_of_imports(nodes: list[ast.stmt]) -> bool:
    """Say whether most statements of a cell import something."""
    imports = sum(isinstance(node, _IMPORTS) or _is_magic(node) for node in nodes)
    defines = any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in nodes
    )
    return any(isinstance(node, _IMPORTS) for node in nodes) and (
        2 * imports > len(nodes) and not defines
    )


def _is_passed_over(node: ast.stmt) -> bool:
    return isinstance(node, _IMPORTS) or _is_magic(node)


def _is_magic(node: ast.stmt) -> bool:
    """Say whether a statement is a line like `%matplotlib widget` or `!pip install tqdm`."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = node.value.func
    if not isinstance(called, ast.Attribute) or called.attr not in ("run_line_magic", "system"):
        return False
    owner = called.value
    return (
        isinstance(owner, ast.Call)
        and isinstance(owner.func, ast.Name)
        and owner.func.id == "get_ipython"
    )
