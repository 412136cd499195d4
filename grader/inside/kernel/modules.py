"""What counts as a module, and which of the modules bound to names are new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import tvm

from grader.inside.kernel.objects import Namespace, is_a, is_alive, is_module
from grader.inside.kernel.snapshots import Snapshot

Holds = Literal["model", "function"]
"""A module with a Relax `main`, or any with a PrimFunc, and a PrimFunc by itself (EntrySpec)."""

Unwrap = Callable[[object], Any]


def module_of(value: Any, holds: Holds) -> Any:
    """Return the IRModule that a value is, or that holds the PrimFunc that it is; None for others.

    A lone PrimFunc keeps its `global_symbol` as its name; without one it is called `main`.
    """
    if is_alive(value, tvm.IRModule):
        return value if _counts(value, holds) else None
    if holds == "function" and is_alive(value, tvm.tirx.PrimFunc):
        return tvm.IRModule.from_expr(value)
    return None


def module_within(value: Any, holds: Holds) -> Any:
    """Return the IRModule of what was asked for by name: whatever is in it, the referee tells.

    A BlockBuilder and a Schedule stand for their module. None for what is or has no module.
    """
    if is_alive(value, tvm.IRModule):
        return value
    if is_alive(value, tvm.relax.BlockBuilder):
        return tvm.relax.BlockBuilder.get(value)
    if is_alive(value, tvm.s_tir.Schedule):
        return value.mod
    return module_of(value, holds)


def schedule_base(given: Any) -> Any:
    """Return the module that a Schedule of `given` starts from, None if it holds no PrimFunc.

    TVM calls a lone PrimFunc `main` there, whatever its `global_symbol` is.
    """
    if is_alive(given, tvm.tirx.PrimFunc):
        return tvm.IRModule({"main": given})
    return given if module_of(given, "function") is not None else None


def is_schedule(value: Any, holds: Holds) -> bool:
    """Say whether a value is a Schedule of what counts as a module."""
    return is_alive(value, tvm.s_tir.Schedule) and module_of(value.mod, holds) is not None


class BoundModules:
    """The modules bound to names, and which of them are new since the last look.

    `unwrap` returns the IRModule that a value counts by, or None.
    """

    def __init__(self, unwrap: Unwrap) -> None:
        self._unwrap = unwrap
        self._seen: dict[str, tuple[object, Snapshot]] = {}

    def news(self, values: Namespace) -> dict[str, Snapshot]:
        """Return the modules that were bound anew or changed in place."""
        fresh: dict[str, Snapshot] = {}
        for name in self._seen.keys() - values.keys():
            del self._seen[name]
        for name, value in values.items():
            seen = self._seen.pop(name, None)
            if seen is None or seen[0] is not value or not self._is_current(*seen):
                module = self._unwrap(value)
                seen = None if module is None else (value, Snapshot(module))
                if seen is not None:
                    fresh[name] = seen[1]
            if seen is not None:
                self._seen[name] = seen
        return fresh

    def __len__(self) -> int:
        return len(self._seen)

    def _is_current(self, value: object, seen: Snapshot) -> bool:
        if is_a(value, tvm.tirx.PrimFunc):  # it never changes
            return True
        module = value if is_alive(value, tvm.IRModule) else self._unwrap(value)
        return module is not None and seen.is_current(module)


def _counts(module: Any, holds: Holds) -> bool:
    if holds == "model":
        return is_module(module)
    functions = tvm.IRModule.functions.__get__(module, tvm.IRModule)
    return any(is_a(function, tvm.tirx.PrimFunc) for function in functions.values())
