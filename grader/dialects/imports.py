"""Import statements: names keep their local spelling, so that their uses need not change."""

from __future__ import annotations

from typing import NamedTuple

import libcst

from grader.dialects.names import renamed
from grader.dialects.page import Page, dotted
from grader.dialects.table import Row, gone
from grader.language import foreign, in_a_row, say


def rewrite_import(page: Page, node: libcst.Import) -> None:
    """Rewrite `import tvm.tir as tir` and its like."""
    for alias in node.names:
        full = dotted(alias.name)
        _note_missing(page, alias, full)
        _rewrite_module(page, alias.name, full)


def rewrite_import_from(page: Page, node: libcst.ImportFrom) -> None:
    """Rewrite `from tvm.script import tir as T` and its like, one module or several."""
    module = dotted(node.module) if node.module is not None else ""
    if node.relative or not (module == "tvm" or module.startswith("tvm.")):
        return
    if isinstance(node.names, libcst.ImportStar):
        _rewrite_module(page, node.module, module)
        return
    fresh = [_renamed_alias(page, module, alias) for alias in node.names]
    origins = list(dict.fromkeys(each.origin for each in fresh))
    row = next((each.row for each in fresh if each.row is not None), None)
    if row is None or node.module is None:
        return
    if len(origins) == 1:
        _rewrite_names(page, node.module, fresh, row)
    elif "\n" in page.text(node):
        page.leave(
            node,
            foreign(module),
            say("today its names are in {modules}", modules=in_a_row(origins)),
        )
    else:
        lines = [
            f"from {origin} import "
            + ", ".join(each.text for each in fresh if each.origin == origin)
            for origin in origins
        ]
        page.replace(page.start(node), page.end(node), "; ".join(lines), row)


class _Alias(NamedTuple):
    """An imported name: where it stands, which module it is in today, and how it is written."""

    start: int
    end: int
    origin: str
    text: str
    row: Row | None


def _renamed_alias(page: Page, module: str, alias: libcst.ImportAlias) -> _Alias:
    full = f"{module}.{dotted(alias.name)}"
    _note_missing(page, alias, full)
    found = renamed(full)
    new, row = found if found is not None and found[0] != full else (full, None)
    origin, _, name = new.rpartition(".")
    local = alias.asname.name if alias.asname else alias.name
    written = page.text(local)
    text = name if name == written else f"{name} as {written}"
    return _Alias(page.start(alias.name), page.end(local), origin, text, row)


def _rewrite_names(page: Page, module: libcst.CSTNode, fresh: list[_Alias], row: Row) -> None:
    """Write names where they stand, so that spaces and comments between them stay."""
    if page.text(module) != fresh[0].origin:
        page.replace(page.start(module), page.end(module), fresh[0].origin, row)
    for each in fresh:
        if each.row is not None and page.source[each.start : each.end] != each.text:
            page.replace(each.start, each.end, each.text, row)


def _rewrite_module(page: Page, place: libcst.CSTNode | None, full: str) -> None:
    found = renamed(full)
    if place is not None and found is not None and found[0] != full:
        page.replace(page.start(place), page.end(place), found[0], found[1])


def _note_missing(page: Page, node: libcst.CSTNode, full: str) -> None:
    missing = gone(full)
    if missing is not None:
        page.leave(node, foreign(missing.name), missing.reason)
