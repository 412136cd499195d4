"""TVMScript: functions of TensorIR and Relax, whose text TVM itself reads."""

from __future__ import annotations

import re

import libcst

from grader.dialects.calls import keyword
from grader.dialects.page import Page, Scope, dotted
from grader.dialects.table import by_id

_BLOCK = re.compile(r"\b(\w{1,80})\.s?block\s{0,80}\(")
_KINDS = {"tvm.script.tir.prim_func": "prim", "tvm.script.relax.function": "relax"}
_BARE = frozenset({"Tensor", "Tuple", "Shape", "Object"})
"""What the parser of 2022 knew in Relax functions without a prefix."""


def enter_function(page: Page, node: libcst.FunctionDef, outer: Scope) -> Scope:
    """Return the scope of a function's inside."""
    inner = Scope(outer.module, outer.siblings)
    for decorator in node.decorators:
        written = decorator.decorator
        name = dotted(written.func if isinstance(written, libcst.Call) else written)
        kind = _KINDS.get(page.names.full(name) or "", "")
        if kind:
            inner.kind, inner.near = kind, name
    if not inner.kind:
        inner.kind, inner.near, inner.blocked = outer.kind, outer.near, outer.blocked
    elif inner.kind == "prim":
        inner.blocked = _has_blocks(page, node)
    parameters = node.params
    inner.own = frozenset(
        each.name.value
        for each in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    )
    return inner


def _has_blocks(page: Page, node: libcst.FunctionDef) -> bool:
    """Say whether a TIR function has blocks, if only in a comment as printed scripts have them."""
    scripts = ("tvm.script.tir.block", "tvm.script.tir.sblock")
    prefixes = set(_BLOCK.findall(page.text(node.body)))
    return any(page.names.full(f"{prefix}.block") in scripts for prefix in prefixes)


def rewrite_decorator(page: Page, node: libcst.FunctionDef) -> None:
    """Tell `@T.prim_func` that the function has blocks."""
    row = by_id()["prim-func-s-tir"]
    for decorator in node.decorators:
        written = decorator.decorator
        name = dotted(written.func if isinstance(written, libcst.Call) else written)
        if page.names.full(name) != "tvm.script.tir.prim_func":
            continue
        if not isinstance(written, libcst.Call):
            page.insert(page.end(written), "(s_tir=True)", row)
        elif keyword(written, "s_tir") is None:
            comma = ", " if written.args else ""
            page.insert(page.start_of_arguments(written), f"s_tir=True{comma}", row)


def rewrite_buffer(page: Page, node: libcst.Subscript) -> None:
    """`T.Buffer[shape, dtype]`, as it was before it became a call."""
    if len(node.slice) != 2 or node.lpar:
        return
    row = by_id()["buffer-brackets"]
    opening, closing = page.start(node.lbracket), page.end(node.rbracket)
    page.replace(opening, opening + 1, "(", row)
    page.replace(closing - 1, closing, ")", row)


def rewrite_script_call(page: Page, call: libcst.Call, scope: Scope, full: str | None) -> None:
    """Rewrite what is called within functions of TVMScript."""
    if full == "tvm.script.tir.func_attr" and call.args:
        _rewrite_attributes(page, call.args[0].value)
    if scope.kind != "relax" or not isinstance(call.func, libcst.Name):
        return
    name = call.func.value
    if name in _BARE and full is None and name not in page.names.assigned:
        prefix = scope.near.rpartition(".")[0]
        if prefix:
            page.insert(page.start(call.func), f"{prefix}.", by_id()["bare-tensor"])
    elif name in scope.siblings - scope.own:
        page.insert(page.start(call.func), f"{scope.module}.", by_id()["sibling-name"])


def _rewrite_attributes(page: Page, attributes: libcst.BaseExpression) -> None:
    if not isinstance(attributes, libcst.Dict):
        return
    for element in attributes.elements:
        if not isinstance(element, libcst.DictElement):
            continue
        if not isinstance(element.key, libcst.SimpleString):
            continue
        name = element.key.raw_value
        if name == "tir.noalias":
            start = page.start(element.key) + len(element.key.prefix) + 1
            page.replace(start, start + len(name), "tirx.noalias", by_id()["noalias"])
        if name in ("tir.noalias", "tirx.noalias"):
            _rewrite_truth(page, element.value)


def _rewrite_truth(page: Page, value: libcst.BaseExpression) -> None:
    if isinstance(value, libcst.Call) and len(value.args) == 1:
        inner = value.args[0].value
        if page.names.full(dotted(value.func)) == "tvm.script.tir.bool":
            page.handled.add(value.func)
            page.replace(
                page.start(value), page.end(value), page.text(inner), by_id()["noalias-truth"]
            )
