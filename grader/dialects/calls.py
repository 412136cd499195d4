"""Calls of TVM's Python functions whose arguments have changed, and TVMScript, which TVM reads."""

import re
from collections.abc import Callable

import libcst

from grader.dialects.names import is_processor
from grader.dialects.statement import Rewriting, Scope, attributes, dotted, not_reached
from grader.dialects.table import DialectRow, by_id, of_kind
from grader.language import foreign, say

CALL_TIR = ("tvm.script.relax.call_tir", "tvm.relax.op.call_tir", "tvm.relax.call_tir")
_RANKED = ("tvm.relax.DynTensorType", "tvm.relax.TensorType")
"""Types of a tensor by its rank. The second was one in 2025, and is one by shape today."""

_SHAPED = ("tvm.relax.TensorStructInfo", "tvm.relax.TensorType")
_TYPES = frozenset({"Tensor", "TensorStructInfo", "TensorType", "Tuple", "TupleType"})
_EMITTERS = frozenset({"emit_te", "call_te"})
_DATA_TYPES = ("float", "int", "uint", "bool", "bfloat")


def rewrite_call(page: Rewriting, call: libcst.Call, scope: Scope, full: str | None) -> None:
    """Rewrite one call. `full` is what it calls, from `tvm` on; None for nothing of TVM."""
    call, full = _emitted(page, call, full)
    if full is None:
        return
    _rewrite_keywords(page, call, full)
    rule = _RULES.get(full)
    if rule is not None and not any(each.star for each in call.args):
        rule(page, call, scope)


def positional(call: libcst.Call) -> list[libcst.Arg]:
    """Return the arguments without names."""
    return [each for each in call.args if each.keyword is None]


def keyword(call: libcst.Call, name: str) -> libcst.Arg | None:
    """Return the argument of a name."""
    named = (each for each in call.args if each.keyword and each.keyword.value == name)
    return next(named, None)


def argument_start(page: Rewriting, argument: libcst.Arg) -> int:
    """Return where an argument begins, its name included."""
    return page.start(argument.keyword or argument.value)


def called(page: Rewriting, node: libcst.BaseExpression) -> str | None:
    """Return what an expression calls, from `tvm` on; None if it is no call of TVM's."""
    return page.names.full(dotted(node.func)) if isinstance(node, libcst.Call) else None


def _emitted(
    page: Rewriting, call: libcst.Call, full: str | None
) -> tuple[libcst.Call, str | None]:
    """Return the call of an operator that `bb.emit_te(operator, ...)` makes, else the call."""
    is_made = isinstance(call.func, libcst.Attribute) and call.func.attr.value in _EMITTERS
    operator = call.args[0].value if is_made and call.args else None
    inner = None if operator is None else page.names.full(dotted(operator))
    if operator is None or inner is None or not inner.startswith("tvm.topi."):
        return call, full
    return call.with_changes(func=operator, args=call.args[1:]), inner


def _rewrite_keywords(page: Rewriting, call: libcst.Call, full: str) -> None:
    for row in of_kind("keyword").values():
        found = keyword(call, row.was) if full in row.callee else None
        if found is not None and found.keyword is not None and keyword(call, row.becomes) is None:
            place = found.keyword
            page.replace(page.start(place), page.end(place), row.becomes, row)


def _variable(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """`relax.Var(name, shape, type)`: the shape goes into the type."""
    if len(call.args) < 3 or any(each.keyword for each in call.args[:3]):
        return
    row = by_id()["var-shape-type"]
    shape, kind = call.args[1].value, call.args[2].value
    make = page.names.spell("tvm.relax.TensorType", dotted(call.func))
    if make is None:
        return
    if isinstance(kind, libcst.Call) and called(page, kind) in _RANKED:
        _merge(page, shape, kind, make, row)
    elif isinstance(kind, libcst.Name) and kind.value in page.names.types:
        page.insert(page.start(shape), f"{make}(", row)
        page.insert(page.end(kind), ".dtype)", row)


def _merge(
    page: Rewriting, shape: libcst.BaseExpression, kind: libcst.Call, make: str, row: DialectRow
) -> None:
    dtype = _dtype(kind)
    if kind.lpar or (len(kind.args) > 1 and dtype is None) or len(kind.args) > 2:
        return
    page.insert(page.start(shape), f"{make}(", row)
    page.handled.update((kind, kind.func))
    if dtype is None:
        page.replace(page.end(shape), page.end(kind), ")", row)
    else:
        page.replace(page.start(kind), argument_start(page, dtype), "", row)


def _dtype(kind: libcst.Call) -> libcst.Arg | None:
    unnamed = positional(kind)
    return keyword(kind, "dtype") or (unnamed[1] if len(unnamed) > 1 else None)


def _constant(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """`relax.const(value, type)`: a data type is enough."""
    unnamed = positional(call)
    found = keyword(call, "dtype") or (unnamed[1] if len(unnamed) > 1 else None)
    if found is None:
        return
    row, kind = by_id()["const-type"], found.value
    if isinstance(kind, libcst.Name) and kind.value in page.names.types:
        page.insert(page.end(kind), ".dtype", row)
    if not isinstance(kind, libcst.Call) or called(page, kind) not in (*_RANKED, *_SHAPED):
        return
    dtype = _dtype(kind)
    if dtype is not None and not kind.lpar:
        page.handled.update((kind, kind.func))
        page.replace(page.start(kind), page.start(dtype.value), "", row)
        page.replace(page.end(dtype.value), page.end(kind), "", row)


def _ranked(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """`relax.DynTensorType(rank, dtype)` by itself: the same arguments, by name."""
    if call in page.handled:
        return
    for argument, name in zip(positional(call), ("ndim", "dtype"), strict=False):
        page.insert(page.start(argument.value), f"{name}=", by_id()["dyn-tensor-type"])


def _call_tir(page: Rewriting, call: libcst.Call, scope: Scope) -> None:
    if not call.args:
        return
    callee = call.args[0].value
    if _is_extern(page, callee):
        _call_packed(page, call)
    elif isinstance(callee, libcst.Name) and callee.value in scope.siblings - scope.own:
        page.insert(page.start(callee), f"{scope.module}.", by_id()["sibling-name"])
    _result_type(page, call)


def _is_extern(page: Rewriting, callee: libcst.BaseExpression) -> bool:
    if isinstance(callee, (libcst.SimpleString, libcst.ConcatenatedString)):
        return True
    return called(page, callee) in ("tvm.relax.ExternFunc", "tvm.relax.extern")


def _call_packed(page: Rewriting, call: libcst.Call) -> None:
    row, parts = by_id()["call-tir-string"], attributes(call.func)
    if len(parts) > 2 or not dotted(call.func).startswith("relax.call"):
        name = "call_dps_packed"
    else:
        name = "op.call_dps_packed"
    if len(parts) > 1:
        page.handled.add(call.func)
        page.replace(page.start(parts[-1]), page.end(parts[-1]), name, row)


def _result_type(page: Rewriting, call: libcst.Call) -> None:
    """Shape and data type become one type; so they do for externs."""
    row = by_id()["call-tir-shape"]
    unnamed = positional(call)
    shape = keyword(call, "shape") or (unnamed[2] if len(unnamed) > 2 else None)
    dtype = keyword(call, "dtype") or (unnamed[3] if len(unnamed) > 3 else None)
    if shape is None or dtype is None:
        return
    value = shape.value
    name = dotted(value.func).rsplit(".", 1)[-1] if isinstance(value, libcst.Call) else ""
    if name in _TYPES or call.args.index(dtype) != call.args.index(shape) + 1:
        return
    near = dotted(call.func)
    full = page.names.full(near) or ""
    script = full.startswith("tvm.script.")
    kind = "tvm.script.relax.Tensor" if script else "tvm.relax.TensorType"
    make = page.names.spell(kind, near)
    if make is None:
        page.leave(call, foreign(near), not_reached(kind))
        return
    if isinstance(value, (libcst.List, libcst.ListComp)) or _are_several(value):
        _result_types(page, call, shape, dtype, make)
        return
    if shape.keyword is None:
        page.insert(page.start(value), f"{make}(", row)
    else:
        page.replace(page.start(shape.keyword), page.start(value), f"out_ty={make}(", row)
    page.insert(page.end(dtype.value), ")", row)


def _are_several(value: libcst.BaseExpression) -> bool:
    """Say whether it is a tuple of shapes, and not of extents."""
    return isinstance(value, libcst.Tuple) and any(
        isinstance(each.value, (libcst.Tuple, libcst.List)) for each in value.elements
    )


def _result_types(
    page: Rewriting, call: libcst.Call, shape: libcst.Arg, dtype: libcst.Arg, make: str
) -> None:
    """Several outputs have a list of types: each shape with its data type, or the one for all."""
    row, shapes, kinds = by_id()["call-tir-shapes"], shape.value, dtype.value
    if not isinstance(shapes, (libcst.List, libcst.Tuple)) or not all(
        isinstance(each.value, (libcst.List, libcst.Tuple)) for each in shapes.elements
    ):
        why = say("has-several-outputs-whose-shapes-not-written")
        page.leave(call, foreign("call_tir"), why)
        return
    each = [kinds.value] * len(shapes.elements) if isinstance(kinds, libcst.SimpleString) else []
    if isinstance(kinds, (libcst.List, libcst.Tuple)):
        names = [one.value for one in kinds.elements]
        each = [one.value for one in names if isinstance(one, libcst.SimpleString)]
    if len(each) != len(shapes.elements):
        why = say("has-several-outputs-whose-data-types")
        page.leave(call, foreign("call_tir"), why)
        return
    start, end = page.start(shapes), page.end(shapes)
    if shape.keyword is not None:
        page.replace(page.start(shape.keyword), start, "out_ty=", row)
    if isinstance(shapes, libcst.Tuple):
        page.replace(start, start + 1, "[", row)
    for element, name in zip(shapes.elements, each, strict=True):
        page.insert(page.start(element.value), f"{make}(", row)
        page.insert(page.end(element.value), f", {name})", row)
    if isinstance(shapes, libcst.Tuple):
        page.replace(end - 1, end, "]", row)
    page.replace(end, page.end(kinds), "", row)


def _convolution(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """The seventh argument was the data type and is the kernel's layout."""
    unnamed = positional(call)
    last = unnamed[6].value if len(unnamed) == 7 else None
    if isinstance(last, libcst.SimpleString) and last.raw_value.startswith(_DATA_TYPES):
        page.insert(page.start(last), "out_dtype=", by_id()["conv2d-out-dtype"])


def _target(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """A target with options is a table today, and no text."""
    full = page.names.full(dotted(call.func)) or ""
    unnamed = positional(call)
    place = 0 if full == "tvm.target.Target" else 1
    found = keyword(call, "target") or (unnamed[place] if len(unnamed) > place else None)
    value = found.value if found is not None else None
    if not isinstance(value, libcst.SimpleString) or not value.raw_value.startswith("llvm -"):
        return
    table = _options(value.raw_value)
    make = page.names.spell("tvm.target.Target")
    if table is None or make is None:
        page.leave(value, say("target"), say("options-not-known"))
    elif full == "tvm.target.Target":
        page.replace(page.start(value), page.end(value), table, by_id()["target-options"])
    else:
        text = f"{make}({table})"
        page.replace(page.start(value), page.end(value), text, by_id()["target-options"])


def _device(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """A target was a name of a device once: that of `llvm` is the processor."""
    first = call.args[0].value if call.args else None
    if isinstance(first, libcst.SimpleString):
        is_target = is_processor(first.raw_value)
    else:
        is_target = isinstance(first, libcst.Name) and first.value in page.names.processors
    if first is not None and is_target:
        row = by_id()["device-of-a-target"]
        page.replace(page.start(first), page.end(first), '"cpu"', row)


def _program(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """`from_source(text)`: the program is rewritten where it stands."""
    if call.args and isinstance(call.args[0].value, libcst.SimpleString):
        page.read(call.args[0].value)


def _constant_of_a_tensor(page: Rewriting, call: libcst.Call, _: Scope) -> None:
    """`relax.Constant(tensor)`: the class of today also takes a type, the function does not."""
    make = page.names.spell("tvm.relax.const", dotted(call.func))
    if make is None or len(call.args) != 1:
        return
    row = by_id()["constant-of-a-tensor"]
    page.handled.add(call.func)
    page.replace(page.start(call.func), page.end(call.func), make, row)


def _options(text: str) -> str | None:
    """Return the table that a target's text stands for, as Python; None if it cannot be read."""
    kind, *options = text.split()
    found = [_OPTION.fullmatch(option) for option in options]
    if not all(found):
        return None
    pairs = [(match.group(1), match.group(2)) for match in found if match]
    values = [
        f'"{name}": {value}' if value.isdigit() else f'"{name}": "{value}"' for name, value in pairs
    ]
    return "{" + ", ".join([f'"kind": "{kind}"', *values]) + "}"


_OPTION = re.compile(r"--?([a-z-]{1,40})=([\w.,+-]{1,80})")

_TARGETED = ("tvm.relax.build", "tvm.relax.vm.build", "tvm.build", "tvm.tir.build", "tvm.compile")

_RULES: dict[str, Callable[[Rewriting, libcst.Call, Scope], None]] = {
    "tvm.relax.Var": _variable,
    "tvm.relax.DataflowVar": _variable,
    "tvm.relax.const": _constant,
    "tvm.relax.Constant": _constant_of_a_tensor,
    "tvm.relax.expr.Constant": _constant_of_a_tensor,
    "tvm.script.from_source": _program,
    "tvm.device": _device,
    "tvm.runtime.device": _device,
    "tvm.relax.DynTensorType": _ranked,
    "tvm.topi.nn.conv2d": _convolution,
    "tvm.target.Target": _target,
    **dict.fromkeys(_TARGETED, _target),
    **dict.fromkeys(CALL_TIR, _call_tir),
}


# TVMScript: functions of TensorIR and Relax, whose text TVM itself reads.


_BLOCK = re.compile(r"\b(\w{1,80})\.s?block\s{0,80}\(")
_KINDS = {"tvm.script.tir.prim_func": "prim", "tvm.script.relax.function": "relax"}
_BARE = frozenset({"Tensor", "Tuple", "Shape", "Object"})
"""What the parser of 2022 knew in Relax functions without a prefix."""


def enter_function(page: Rewriting, node: libcst.FunctionDef, outer: Scope) -> Scope:
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


def _has_blocks(page: Rewriting, node: libcst.FunctionDef) -> bool:
    """Say whether a TIR function has blocks, if only in a comment as printed scripts have them."""
    scripts = ("tvm.script.tir.block", "tvm.script.tir.sblock")
    prefixes = set(_BLOCK.findall(page.text(node.body)))
    return any(page.names.full(f"{prefix}.block") in scripts for prefix in prefixes)


def rewrite_decorator(page: Rewriting, node: libcst.FunctionDef) -> None:
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


def rewrite_buffer(page: Rewriting, node: libcst.Subscript) -> None:
    """`T.Buffer[shape, dtype]`, as it was before it became a call."""
    if len(node.slice) != 2 or node.lpar:
        return
    row = by_id()["buffer-brackets"]
    opening, closing = page.start(node.lbracket), page.end(node.rbracket)
    page.replace(opening, opening + 1, "(", row)
    page.replace(closing - 1, closing, ")", row)


def rewrite_script_call(page: Rewriting, call: libcst.Call, scope: Scope, full: str | None) -> None:
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


def _rewrite_attributes(page: Rewriting, attributes: libcst.BaseExpression) -> None:
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


def _rewrite_truth(page: Rewriting, value: libcst.BaseExpression) -> None:
    if isinstance(value, libcst.Call) and len(value.args) == 1:
        inner = value.args[0].value
        if page.names.full(dotted(value.func)) == "tvm.script.tir.bool":
            page.handled.add(value.func)
            page.replace(
                page.start(value), page.end(value), page.text(inner), by_id()["noalias-truth"]
            )
