"""What a notebook's function depends on: itself and, through names, everything it may look up.

Two equal fingerprints mean that nothing which it refers to by a global name was bound anew.
"""

from __future__ import annotations

import dis
import functools
from types import CellType, CodeType, FunctionType
from typing import Any

import msgspec
import tvm

from grader.inside.kernel.objects import (
    Namespace,
    class_attributes,
    inner_functions,
    is_a,
    is_alive,
    is_exactly,
    is_notebook_scope,
)

_VALUES = (type(None), bool, int, str, bytes)
_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_VISIT_LIMIT = 2000
_ITEM_LIMIT = 128
_MISSING = ("missing",)


class Fingerprint(msgspec.Struct, frozen=True, eq=False):
    """`tokens` are compared; `kept` holds the objects, so that no identity is used twice."""

    tokens: tuple[object, ...]
    kept: tuple[object, ...]


def fingerprint(
    function: object,
    names: tuple[str, ...],
    namespace: Namespace,
    folders: tuple[str, ...],
    given: tuple[object, ...] = (),
) -> Fingerprint:
    """Return what `function`, and the values bound to `names` in the notebook, depend on now.

    `given` are values that it gets from elsewhere.
    """
    walk = _Walk(namespace, folders)
    walk.visit(function)
    for name in names:
        walk.visit_name(name, namespace)
    for value in given:
        walk.visit(value)
    walk.run()
    return Fingerprint(tuple(walk.tokens), tuple(walk.kept.values()))


@functools.lru_cache(maxsize=4096)
def global_names(code: CodeType) -> tuple[str, ...]:
    """Return the global names that code reads, nested functions and classes included."""
    own = [each.argval for each in dis.get_instructions(code) if each.opname in _READS]
    nested = [
        name
        for constant in code.co_consts
        if isinstance(constant, CodeType)
        for name in global_names(constant)
    ]
    return tuple(dict.fromkeys([*own, *nested]))


class _Walk:
    """Visits objects breadth first; an explicit list, for a student's objects may nest deeply."""

    def __init__(self, namespace: Namespace, folders: tuple[str, ...]) -> None:
        self.tokens: list[object] = []
        self.kept: dict[int, object] = {}
        self._pending: list[object] = []
        self._namespace = namespace
        self._folders = folders

    def visit(self, value: object) -> None:
        """Note a value; what it leads to is visited later."""
        if is_exactly(value, *_VALUES):
            self.tokens.append((type(value).__name__, value))
        elif is_exactly(value, float, complex):
            self.tokens.append((type(value).__name__, repr(value)))  # a NaN is not equal to itself
        else:
            self.tokens.append(id(value))
            if id(value) not in self.kept and len(self.kept) < _VISIT_LIMIT:
                self.kept[id(value)] = value
                self._pending.append(value)

    def visit_name(self, name: str, scope: Namespace) -> None:
        """Note what a global name is bound to, or that it is not bound."""
        if name in scope:
            self.visit(scope[name])
        else:
            self.tokens.append(_MISSING)

    def run(self) -> None:
        """Visit everything that was put off."""
        for value in self._pending:
            self._open(value)

    def _open(self, value: Any) -> None:
        kind = type(value)
        if kind is FunctionType:
            self._open_function(value)
        elif is_exactly(value, tuple, list, set, dict):
            self._open_collection(value)
        elif kind is CellType:
            self._open_cell(value)
        elif is_alive(value, tvm.IRModule):
            self._note(value.functions)
        elif is_alive(value, tvm.s_tir.Schedule):
            self._note(value.mod.functions)
        elif is_a(value, type):
            self._open_class(value)
        else:
            for inner in inner_functions(value):
                self.visit(inner)
            if self._is_notebook_class(kind):
                self.visit(kind)

    def _is_notebook_class(self, owner: type) -> bool:
        module = class_attributes(owner).get("__module__")
        return type(module) is str and module == self._namespace.get("__name__")

    def _open_function(self, function: FunctionType) -> None:
        for inner in (*inner_functions(function), function.__defaults__, function.__kwdefaults__):
            self.visit(inner)
        for cell in function.__closure__ or ():
            self.visit(cell)
        scope = function.__globals__
        if is_notebook_scope(scope, self._namespace, self._folders):
            for name in global_names(function.__code__):
                self.visit_name(name, scope)

    def _open_class(self, owner: Any) -> None:
        if self._is_notebook_class(owner):
            for attribute in list(class_attributes(owner).values()):
                self.visit(attribute)

    def _open_collection(self, collection: Any) -> None:
        items = list(collection.values() if type(collection) is dict else collection)
        self.tokens.append(len(items))
        for item in items[:_ITEM_LIMIT]:
            self.visit(item)

    def _open_cell(self, cell: Any) -> None:
        try:
            self.visit(cell.cell_contents)
        except ValueError:  # the enclosing function has not bound it yet
            self.tokens.append(_MISSING)

    def _note(self, part: Any) -> None:
        """Note a part of a TVM object by the identity of what it holds."""
        self.tokens.append(int(part.__chandle__()))
        self.kept[id(part)] = part
