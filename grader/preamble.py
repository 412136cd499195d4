"""The imports that an assignment's own notebook begins with, and who lacks which of them.

A script that is one of several files, or the blocks of a blog, has lost its first cell. The text is
the course's: nothing of a submission is parsed here.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable

from grader.language import NOTHING, Text, say

SLOW = ("torchvision",)
"""Packages that take more than a second to import, and notice nothing of where it is done.

Matplotlib does: it looks for a home once, and a launcher has none.
"""


@functools.lru_cache(maxsize=64)
def bound_names(preamble: str) -> dict[str, str]:
    """Return the names that the imports bind, each with the import of it alone.

    Raises ValueError for a text that is anything but imports.
    """
    try:
        statements = ast.parse(preamble).body
    except SyntaxError as error:
        raise ValueError(f"`preamble` is no Python: {error.msg}") from None
    names: dict[str, str] = {}
    for statement in statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            told = f"line {statement.lineno} of `preamble` is no import"
            raise ValueError(told)  # noqa: TRY004 - it is the text that is wrong
        for alias in statement.names:
            alone = ast.unparse(_alone(statement, alias))
            names[alias.asname or alias.name.partition(".")[0]] = alone
    return names


def slow_imports(preambles: Iterable[str]) -> tuple[str, ...]:
    """Return which of the slow packages assignments' own notebooks import, by their preambles."""
    texts = [text for preamble in preambles for text in bound_names(preamble).values()]
    return tuple(name for name in SLOW if any(re.search(rf"\b{name}\b", text) for text in texts))


def _alone(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(statement.module, [alias], statement.level)


def missing_import(preamble: str, name: str) -> Text:
    """Return what to do about a name that is not defined; empty where the preamble binds none."""
    statement = bound_names(preamble).get(name)
    if statement is None:
        return NOTHING
    return say(
        "The assignment's own notebook imports it: put `{statement}` before this.",
        statement=statement,
    )
