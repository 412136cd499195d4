"""Statements of lowered TIR as text, for people."""

from __future__ import annotations

from typing import Any

from grader.evidence.gpu.messages import TEXT_LIMIT

_SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "FloorDiv": "//",
    "FloorMod": "%",
    "Mod": "%",
    "EQ": "==",
    "NE": "!=",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "And": "and",
    "Or": "or",
    "LShift": "<<",
    "RShift": ">>",
}
_LOOSE = ("Add", "Sub")
_DEPTH = 24


def quote_store(store: Any) -> str:
    """Return a store as a line of at most TEXT_LIMIT characters."""
    where = ", ".join(quote(each) for each in store.indices)
    return cut(f"{store.buffer.name}[{where}] = {quote(store.value)}")


def cut(text: str) -> str:
    """Return a text of at most TEXT_LIMIT characters."""
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


def quote(node: Any, depth: int = 0) -> str:  # noqa: C901 - one line for each kind
    """Return an expression as text."""
    kind = type(node).__name__
    if depth > _DEPTH:
        return "…"

    def inner(each: Any) -> str:
        text = quote(each, depth + 1)
        name = type(each).__name__
        return f"({text})" if name in _SYMBOLS and (name in _LOOSE or kind in _TIGHT) else text

    if kind in _SYMBOLS:
        if kind in _LOOSE:
            right = quote(node.b, depth + 1)
            right = f"({right})" if kind == "Sub" and type(node.b).__name__ in _LOOSE else right
            return f"{quote(node.a, depth + 1)} {_SYMBOLS[kind]} {right}"
        return f"{inner(node.a)} {_SYMBOLS[kind]} {inner(node.b)}"
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
        return f"not {inner(node.a)}"
    if kind == "Broadcast":
        return quote(node.value, depth + 1)
    if kind == "Ramp":
        start = quote(node.base, depth + 1)
        return f"{start}:{start} + {node.lanes}"
    if kind == "Call":
        name = str(node.op.name).rpartition(".")[2]
        return f"{name}({', '.join(quote(each, depth + 1) for each in node.args)})"
    return kind


_TIGHT = frozenset({"Mul", "Div", "FloorDiv", "FloorMod", "Mod", "LShift", "RShift"})
