"""Going through a statement's tree, imports first, and applying the table's rows that fit."""

from typing import NamedTuple

import libcst

from grader.dialects.calls import (
    enter_function,
    rewrite_buffer,
    rewrite_call,
    rewrite_decorator,
    rewrite_script_call,
)
from grader.dialects.names import as_of_old, renamed, today
from grader.dialects.statement import Rewriting, Scope, attributes, dotted, not_reached
from grader.dialects.table import DialectRow, by_id, gone, of_kind
from grader.language import foreign, in_a_row, say

# Import statements: names keep their local spelling, so that their uses need not change.


def rewrite_import(page: Rewriting, node: libcst.Import) -> None:
    """Rewrite `import tvm.tir as tir` and its like."""
    for alias in node.names:
        full = dotted(alias.name)
        _note_missing(page, alias, full)
        _rewrite_module(page, alias.name, full)


def rewrite_import_from(page: Rewriting, node: libcst.ImportFrom) -> None:
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
        page.leave(node, foreign(module), say("today-names-in", modules=in_a_row(origins)))
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
    row: DialectRow | None


def _renamed_alias(page: Rewriting, module: str, alias: libcst.ImportAlias) -> _Alias:
    full = f"{module}.{dotted(alias.name)}"
    _note_missing(page, alias, full)
    found = renamed(full)
    new, row = found if found is not None and found[0] != full else (full, None)
    origin, _, name = new.rpartition(".")
    local = alias.asname.name if alias.asname else alias.name
    written = page.text(local)
    text = name if name == written else f"{name} as {written}"
    return _Alias(page.start(alias.name), page.end(local), origin, text, row)


def _rewrite_names(
    page: Rewriting, module: libcst.CSTNode, fresh: list[_Alias], row: DialectRow
) -> None:
    """Write names where they stand, so that spaces and comments between them stay."""
    if page.text(module) != fresh[0].origin:
        page.replace(page.start(module), page.end(module), fresh[0].origin, row)
    for each in fresh:
        if each.row is not None and page.source[each.start : each.end] != each.text:
            page.replace(each.start, each.end, each.text, row)


def _rewrite_module(page: Rewriting, place: libcst.CSTNode | None, full: str) -> None:
    found = renamed(full)
    if place is not None and found is not None and found[0] != full:
        page.replace(page.start(place), page.end(place), found[0], found[1])


def _note_missing(page: Rewriting, node: libcst.CSTNode, full: str) -> None:
    missing = gone(full)
    if missing is not None:
        page.leave(node, foreign(missing.name), missing.reason)


ALLOCATION = "tvm.script.tir.alloc_buffer"
MODULE_DECORATORS = ("tvm.script.ir_module", "tvm.script.ir.ir_module")


class Walk(libcst.CSTVisitor):
    """Writes the edits of one statement on its page."""

    def __init__(self, page: Rewriting) -> None:
        super().__init__()
        self._page = page
        self._scopes = [Scope()]
        self._hidden: list[frozenset[str]] = []

    @property
    def scope(self) -> Scope:
        """What the current node stands in."""
        return self._scopes[-1]

    def visit_ClassDef(self, node: libcst.ClassDef) -> None:  # noqa: N802
        """Note the functions of a TVMScript module, which call each other by their bare names."""
        full = {self._page.names.full(_callee(each.decorator)) for each in node.decorators}
        module = node.name.value if full & set(MODULE_DECORATORS) else ""
        body = node.body.body if isinstance(node.body, libcst.IndentedBlock) else ()
        functions = {each.name.value for each in body if isinstance(each, libcst.FunctionDef)}
        self._scopes.append(Scope(module, frozenset(functions) if module else frozenset()))

    def leave_ClassDef(self, original_node: libcst.ClassDef) -> None:  # noqa: ARG002, N802
        """Leave the module."""
        self._scopes.pop()

    def visit_FunctionDef(self, node: libcst.FunctionDef) -> None:  # noqa: N802
        """Note what kind of function it is, and rewrite its decorator."""
        inner = enter_function(self._page, node, self.scope)
        self._scopes.append(inner)
        self._hidden.append(inner.own)
        if inner.kind == "prim" and inner.blocked:
            rewrite_decorator(self._page, node)

    def leave_FunctionDef(self, original_node: libcst.FunctionDef) -> None:  # noqa: ARG002, N802
        """Leave the function."""
        self._scopes.pop()
        self._hidden.pop()

    def visit_Import(self, node: libcst.Import) -> bool:  # noqa: N802
        """Rewrite the modules of an import."""
        rewrite_import(self._page, node)
        return False

    def visit_ImportFrom(self, node: libcst.ImportFrom) -> bool:  # noqa: N802
        """Rewrite where names are imported from."""
        rewrite_import_from(self._page, node)
        return False

    def visit_Subscript(self, node: libcst.Subscript) -> None:  # noqa: N802
        """Rewrite `T.Buffer[...]`."""
        if self._full(node.value) == "tvm.script.tir.Buffer":
            rewrite_buffer(self._page, node)

    def visit_Call(self, node: libcst.Call) -> None:  # noqa: N802
        """Rewrite the arguments of calls that TVM takes otherwise today."""
        rewrite_script_call(self._page, node, self.scope, self._full(node.func))
        rewrite_call(self._page, node, self.scope, self._full(node.func))

    def visit_Attribute(self, node: libcst.Attribute) -> bool:  # noqa: N802
        """Rewrite a dotted name of TVM, or the name of a method."""
        full = self._full(node)
        if node in self._page.handled:
            return False
        if full is not None:
            self._rename(node, full)
            return False
        self._rename_method(node)
        return not isinstance(node.value, libcst.Name)

    def _full(self, node: libcst.BaseExpression) -> str | None:
        name = dotted(node)
        if not name or any(name.split(".")[0] in hidden for hidden in self._hidden):
            return None
        return self._page.names.full(name)

    def _rename(self, node: libcst.Attribute, full: str) -> None:
        page = self._page
        missing = gone(full)
        if missing is not None:
            page.leave(node, foreign(missing.name), missing.reason)
            return
        found = renamed(full)
        if full == ALLOCATION and self.scope.blocked:
            row = by_id()["sblock-alloc-buffer"]
            found = row.becomes, row
        if found is None:
            return
        new, row = found
        parts = attributes(node)
        written = [part.value for part in parts]
        root = today(as_of_old(page.names.target(written[0]) or ""))
        if new.startswith(f"{root}."):
            fresh = [written[0], *new[len(root) + 1 :].split(".")]
        else:
            spelt = page.names.spell(new)
            if spelt is None:
                page.leave(node, foreign(full), not_reached(new))
                return
            fresh = spelt.split(".")
        same = _common(written, fresh)
        if fresh == written or same == len(written):
            return
        start, end = page.start(parts[same]), page.end(parts[-1])
        if "\n" in page.source[start:end]:
            why = say("stands-on-several-lines-today", name=new)
            page.leave(node, foreign(full), why)
            return
        page.replace(start, end, ".".join(fresh[same:]), row)

    def _rename_method(self, node: libcst.Attribute) -> None:
        row = of_kind("method").get(node.attr.value)
        if row is not None and node.attr.value not in self._page.names.defined:
            page = self._page
            page.replace(page.start(node.attr), page.end(node.attr), row.becomes, row)


def _callee(node: libcst.BaseExpression) -> str:
    return dotted(node.func if isinstance(node, libcst.Call) else node)


def _common(one: list[str], other: list[str]) -> int:
    shorter = min(len(one), len(other)) - 1
    return next((index for index in range(shorter) if one[index] != other[index]), shorter)
