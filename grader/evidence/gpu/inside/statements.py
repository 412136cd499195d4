"""Statements of TIR, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_CHILDREN = ("body", "block", "init", "then_case", "else_case")


def statements_in(node: Any) -> Iterator[Any]:
    """Yield a statement and those in it."""
    pending = [node]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(getattr(each, "seq", ()))
        children = (getattr(each, name, None) for name in _CHILDREN)
        pending.extend(child for child in children if child is not None)
