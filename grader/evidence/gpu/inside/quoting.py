"""Statements of lowered TIR as text, for people."""

from __future__ import annotations

from typing import Any

from grader.evidence.gpu.messages import TEXT_LIMIT

_SYMBOLS = {
    "Or": ("or", 1),
    "And": ("and", 2),
    "EQ": ("==", 4),
    "NE": ("!=", 4),
    "LT": ("<", 4),
    "LE": ("<=", 4),
    "GT": (">", 4),
    "GE": (">=", 4),
    "BitwiseOr": ("|", 5),
    "BitwiseXor": ("^", 6),
    "BitwiseAnd": ("&", 7),
    "LShift": ("<<", 8),
    "RShift": (">>", 8),
    "Add": ("+", 9),
    "Sub": ("-", 9),
    "Mul": ("*", 10),
    "Div": ("/", 10),
    "FloorDiv": ("//", 10),
    "FloorMod": ("%", 10),
    "Mod": ("%", 10),
}
"""Operators with their precedence in Python."""

_NOT = 3
_SHIFTS = frozenset({"LShift", "RShift"})
_ASSOCIATIVE = frozenset({"Or", "And", "BitwiseOr", "BitwiseXor", "BitwiseAnd", "Add", "Mul"})
_DEPTH = 24


def quote_store(store: Any) -> str:
    """Return a store as a line of at most TEXT_LIMIT characters."""
    if _is_scalar(store.buffer):
        return cut(f"{store.buffer.name} = {quote(store.value)}")
    return cut(f"{quote_element(store.buffer.name, store.indices)} = {quote(store.value)}")


def quote_element(name: str, indices: Any) -> str:
    """Return an element of a buffer as text of at most TEXT_LIMIT characters."""
    return cut(f"{name}[{', '.join(map(quote, indices))}]")


def cut(text: str) -> str:
    """Return a text of at most TEXT_LIMIT characters."""
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


def quote(node: Any, depth: int = 0) -> str:  # noqa: C901 - one line for each kind
    """Return an expression as text."""
    kind = type(node).__name__
    if depth > _DEPTH:
        return "…"

    if kind in _SYMBOLS:
        symbol, level = _SYMBOLS[kind]
        right = level if kind in _ASSOCIATIVE else level + 1
        return f"{_operand(node.a, level, depth)} {symbol} {_operand(node.b, right, depth)}"
    if kind == "TensorLoad" and _is_scalar(node.source):
        return str(node.source.name)
    if kind == "TensorLoad":
        return f"{node.source.name}[{', '.join(quote(each, depth + 1) for each in node.indices)}]"
    if kind == "Var":
        return str(node.name)
    if kind in ("IntImm", "FloatImm", "StringImm"):
        return f"{node.value:g}" if kind == "FloatImm" else str(node.value)
    if kind in ("Min", "Max"):
        return f"{kind.lower()}({quote(node.a, depth + 1)}, {quote(node.b, depth + 1)})"
    if kind == "Cast":
        return f"{node.ty.dtype}({quote(node.value, depth + 1)})"
    if kind == "Not":
        return f"not {_operand(node.a, _NOT, depth)}"
    if kind == "Broadcast":
        return quote(node.value, depth + 1)
    if kind == "Ramp":
        return f"{quote(node.base, depth + 1)} : +{node.lanes}"
    if kind == "Call":
        name = str(node.op.name).rpartition(".")[2]
        return f"{name}({', '.join(quote(each, depth + 1) for each in node.args)})"
    return kind


def _is_scalar(buffer: Any) -> bool:
    """Say whether a buffer is what TVMScript makes of `i = bx * 128 + tx`.

    TVM itself prints every buffer of one local element so; those of floats are often written as
    buffers (`total[0]`), and of these TVMScript refuses the name alone.
    """
    layout = buffer.ty
    return (
        str(layout.storage_scope) == "local"
        and [getattr(each, "value", None) for each in layout.shape] == [1]
        and str(layout.dtype.dtype).startswith(("int", "uint", "bool"))
    )


def _operand(node: Any, least: int, depth: int) -> str:
    """Return an operand, in parentheses where it binds less than `least`."""
    text, name = quote(node, depth + 1), type(node).__name__
    level = _NOT if name == "Not" else _SYMBOLS.get(name, ("", least))[1]
    # Few know whether a shift or a sum comes first.
    return f"({text})" if level < least or name in _SHIFTS else text
