"""The Python functions that a notebook registers under a name, and which of them a module calls."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import tvm
import tvm_ffi

_LIBRARIES = ("tvm", "tvm_ffi")


class ExternRegistry:
    """Remembers registered functions as the Python objects they were.

    All spellings (`tvm.register_global_func`, `tvm_ffi.register_global_func`, as a decorator or
    called) end in one function of TVM's core, which is wrapped. A decorated name is bound to TVM's
    own function object afterwards, so it is remembered what each of these was made from.
    """

    def __init__(self) -> None:
        self.functions: dict[str, object] = {}
        self.revision = 0
        self._origins: dict[int, tuple[Any, object]] = {}
        self._aside: dict[str, Any] | None = None
        self._register: Callable[[str, object, bool], Any] = tvm_ffi.core._register_global_func

    def attach(self) -> None:
        """Begin to remember."""
        original = self._register

        @functools.wraps(original)
        def register(name: Any, function: Any, override: Any = False) -> Any:
            __tracebackhide__ = True  # the student's own line is what they are to see
            if self._aside is not None:
                self._aside.setdefault(str(name), _current(name))
                override = True
            registered = original(name, function, override)
            self._remember(str(name), function, registered)
            return registered

        tvm_ffi.core._register_global_func = register

    def detach(self) -> None:
        """Stop remembering, and leave TVM as it was."""
        tvm_ffi.core._register_global_func = self._register

    def origin(self, function: Any) -> object | None:
        """Return the Python object that one of TVM's function objects was made from, if known."""
        if type(function) is not tvm_ffi.Function:
            return None
        return self._origins.get(function.__chandle__(), (None, None))[1]

    @contextlib.contextmanager
    def aside(self) -> Iterator[dict[str, object]]:
        """Undo, at the end, every registration made in the body; yields what was registered.

        An entry point may register its externs itself, once by our call and once by the notebook's:
        the second time would fail if the first had left anything behind.
        """
        before, revision, self._aside = dict(self.functions), self.revision, {}
        made: dict[str, object] = {}
        try:
            yield made
        finally:
            earlier, self._aside = self._aside, None
            made.update({name: self.functions[name] for name in earlier if name in self.functions})
            self.functions, self.revision = before, revision
            for name, function in earlier.items():
                self._restore(name, function)

    def _restore(self, name: str, function: object) -> None:
        if function is not None:
            self._register(name, function, True)
        elif _current(name) is not None:
            tvm_ffi.registry.remove_global_func(name)

    def _remember(self, name: str, function: object, registered: Any) -> None:
        origin = self.origin(function)
        source = function if origin is None else origin
        if _is_library_function(source):
            return
        self.functions[name] = source
        self.revision += 1
        self._origins[registered.__chandle__()] = (registered, source)


def called_names(module: Any) -> frozenset[str]:
    """Return every name by which a module may call a function that it does not hold itself."""
    names: set[str] = set()

    def note_function(function: Any) -> None:
        names.add(str(function.global_symbol))

    def note_text(text: Any) -> None:
        names.add(str(text.value))

    tvm_ffi.structural_walk(
        module, ((tvm.relax.ExternFunc, note_function), (tvm.ir.StringImm, note_text)), order="pre"
    )
    return frozenset(names)


def _current(name: object) -> Any:
    return tvm_ffi.get_global_func(str(name), allow_missing=True)


def _is_library_function(function: object) -> bool:
    """Say whether TVM registered a function of its own, as modules do that are imported late."""
    if type(function) is not FunctionType:
        return False
    return str(function.__globals__.get("__name__")).split(".")[0] in _LIBRARIES
