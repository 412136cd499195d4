"""Looking at a student's objects, and at what they depend on, without running their code.

A notebook's namespace may hold anything: objects whose `__eq__`, `__bool__`, `__class__` or
`__getattr__` raise or lie. Everything here goes by the type that the interpreter itself knows.

Two equal fingerprints of a function mean that nothing which it refers to by a global name was bound
anew.
"""

import dis
import functools
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import msgspec
import tvm
import tvm_ffi

Namespace = dict[str, Any]

_MRO = type.__dict__["__mro__"]
_NAME = type.__dict__["__name__"]
_CLASS_DICT = type.__dict__["__dict__"]
_FUNCTION_SCOPE = FunctionType.__dict__["__globals__"]
_CACHED = type(functools.lru_cache(len))
_NAME_LENGTH = 120
_ENVIRONMENT = ("site-packages", "dist-packages")


def is_a(value: object, kind: type) -> bool:
    """Say whether an object's real type is `kind` or a subclass; `__class__` is not asked."""
    return any(base is kind for base in _MRO.__get__(type(value)))


def is_exactly(value: object, *kinds: type) -> bool:
    """Say whether an object's real type is one of `kinds`; a metaclass's `__eq__` is not asked."""
    return any(type(value) is kind for kind in kinds)


def type_name(value: object) -> str:
    """Return the name of an object's real type, shortened."""
    return str(_NAME.__get__(type(value)))[:_NAME_LENGTH]


def class_attributes(owner: type) -> Mapping[str, object]:
    """Return what a class defines itself, without asking its metaclass."""
    attributes: Mapping[str, object] = _CLASS_DICT.__get__(owner)
    return attributes


def is_alive(value: object, kind: type) -> bool:
    """Say whether a value is a TVM object of this kind that holds something.

    TVM crashes on an object whose constructor never ran or whose content was moved out.
    """
    return is_a(value, kind) and tvm_ffi.core.CObject.__chandle__(value) != 0


def is_module(value: object) -> bool:
    """Say whether a value is an IRModule with a Relax function called `main`."""
    if not is_alive(value, tvm.IRModule):
        return False
    functions = tvm.IRModule.functions.__get__(value, tvm.IRModule)
    return any(
        variable.name_hint == "main" and is_a(function, tvm.relax.Function)
        for variable, function in functions.items()
    )


def public_values(namespace: Namespace) -> Namespace:
    """Return what is bound to public names, in the order in which the names came up."""
    return {
        name: value
        for name, value in list(namespace.items())
        if type(name) is str and name.isidentifier() and not name.startswith("_")
    }


def has_wildcard(pattern: str) -> bool:
    """Say whether an fnmatch pattern can match more than one name."""
    return any(mark in pattern for mark in "*?[")


def rank_of(name: str, patterns: tuple[str, ...]) -> tuple[bool, int] | None:
    """Return a sort key, exact names before patterns, or None when no pattern matches."""
    ranks = [
        (has_wildcard(pattern), index)
        for index, pattern in enumerate(patterns)
        if fnmatchcase(name, pattern)
    ]
    return min(ranks, default=None)


def ranked(names: Iterable[str], patterns: tuple[str, ...]) -> list[str]:
    """Return the matching names, exact ones first, otherwise in their order."""
    ranks = {name: rank_of(name, patterns) for name in names}
    matching = [(rank, name) for name, rank in ranks.items() if rank is not None]
    return [name for _, name in sorted(matching, key=lambda pair: pair[0])]


def is_local_file(path: object, folders: tuple[str, ...]) -> bool:
    """Say whether a module's file is the notebook's own: in its folder, not of the environment."""
    return type(path) is str and _is_local_path(str(path), folders)


@functools.lru_cache(maxsize=4096)
def _is_local_path(path: str, folders: tuple[str, ...]) -> bool:
    if any(part in _ENVIRONMENT for part in Path(path).parts):
        return False
    if path.startswith((sys.prefix + "/", sys.base_prefix + "/lib/")):
        return False
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)


def is_notebook_scope(scope: Namespace, namespace: Namespace, folders: tuple[str, ...]) -> bool:
    """Say whether a function's globals are the notebook's, or those of a file beside it."""
    return scope is namespace or is_local_file(scope.get("__file__"), folders)


def inner_functions(value: object) -> list[object]:
    """Return what a callable hands its calls on to: a partial's or a decorator's function."""
    kind = type(value)
    given: Any = value
    if kind is functools.partial:
        return [given.func, *given.args, *given.keywords.values()]
    if kind is MethodType:
        return [given.__func__, given.__self__]
    if kind is staticmethod or kind is classmethod:
        return [given.__func__]
    if kind is property:
        return [given.fget]
    if kind is FunctionType or kind is _CACHED:
        wrapped = given.__dict__.get("__wrapped__")
        return [] if wrapped is None else [wrapped]
    return []


def is_notebook_callable(
    value: object, namespace: Namespace, folders: tuple[str, ...], depth: int = 8
) -> bool:
    """Say whether a value is a Python callable that the notebook defines; classes are not."""
    if type(value) is FunctionType and is_notebook_scope(
        _FUNCTION_SCOPE.__get__(value), namespace, folders
    ):
        return True
    inner = inner_functions(value)[:1] if depth else []
    if any(is_notebook_callable(each, namespace, folders, depth - 1) for each in inner):
        return True
    methods = (class_attributes(base).get("__call__") for base in _MRO.__get__(type(value)))
    return any(
        type(method) is FunctionType
        and is_notebook_scope(_FUNCTION_SCOPE.__get__(method), namespace, folders)
        for method in methods
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
