"""Python functions that a notebook registers, and pickling them to work elsewhere."""

import contextlib
import functools
import io
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle
import torch
import tvm
import tvm_ffi
from ipykernel.iostream import OutStream

from grader.inside.common.modules import nodes_of
from grader.inside.kernel.faults import describe_error, error_name
from grader.inside.kernel.objects import is_a, is_alive, is_local_file, type_name

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
    found = nodes_of(module, tvm.relax.ExternFunc, tvm.ir.StringImm)
    return frozenset(
        str(each.value if isinstance(each, tvm.ir.StringImm) else each.global_symbol)
        for each in found
    )


def _current(name: object) -> Any:
    return tvm_ffi.get_global_func(str(name), allow_missing=True)


def _is_library_function(function: object) -> bool:
    """Say whether TVM registered its own function, as modules do that are imported late."""
    if type(function) is not FunctionType:
        return False
    return str(function.__globals__.get("__name__")).split(".")[0] in _LIBRARIES


SIZE_LIMIT = 12 * 2**20
"""Largest pickle of one function, in bytes: the model's parameters fit, a data set does not."""


class NotPortableError(Exception):
    """Raised when a function cannot be pickled; the message says why, in words for its author."""


def pickle_function(function: object, registry: ExternRegistry, folders: tuple[str, ...]) -> bytes:
    """Return the pickle of a function; modules of `folders` travel along.

    Raises NotPortableError.
    """
    if type(function) is tvm_ffi.Function:
        raise NotPortableError("it was made by TVM and not by Python's def")
    buffer = _Bounded()
    try:
        with _by_value(folders):
            _Pickler(buffer, registry).dump(function)
    except NotPortableError:
        raise
    except BaseException as error:  # noqa: BLE001 - a student's __reduce__ may raise anything
        reason = describe_error(error) or f"pickling it raised {error_name(error)}"
        raise NotPortableError(reason) from None
    return buffer.getvalue()


class _Bounded(io.BytesIO):
    def write(self, data: Any, /) -> int:
        if self.tell() + memoryview(data).nbytes > SIZE_LIMIT:
            raise NotPortableError(
                f"with the data that it uses it is larger than {SIZE_LIMIT // 2**20} MB"
            )
        return super().write(data)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles TVM's function objects as the Python functions that they were made from.

    A tensor goes as a NumPy array: TVM's own pickle of a tensor loads, and crashes when it is read.
    """

    def __init__(self, buffer: io.BytesIO, registry: ExternRegistry) -> None:
        super().__init__(buffer)
        self._registry = registry

    def reducer_override(self, obj: Any) -> Any:
        if is_alive(obj, tvm_ffi.Tensor):
            return tvm.runtime.tensor, (obj.numpy(),)
        if type(obj) is tvm_ffi.Function:
            return self._reduce_function(obj)
        if is_a(obj, torch.jit.ScriptModule):
            return _reduce_script(obj)
        if type(obj) in _REDUCERS:
            return _REDUCERS[type(obj)](obj)
        return super().reducer_override(obj)

    def _reduce_function(self, function: Any) -> Any:
        origin = self._registry.origin(function)
        if origin is None:
            raise NotPortableError(f"it uses an object of type {type_name(function)}")
        return operator.getitem, ((origin,), 0)  # a reduction must be a call: take the only item


def _reduce_script(function: Any) -> Any:
    """Take a function of TorchScript as it is saved; it comes back as a module with a `forward`."""
    buffer = io.BytesIO()
    torch.jit.save(function, buffer)
    return torch.jit.load, (io.BytesIO(buffer.getvalue()),)


def _as(memory: Any) -> Callable[[Any], Any]:
    """Take of an open file what is left of it to read; what is written to it, nobody reads."""
    return lambda file: (memory, (_rest(file, memory),))


def _rest(file: Any, memory: Any) -> Any:
    """Return what can still be read of a file, which stays where it is."""
    if file.closed or not file.readable() or not file.seekable():
        return memory().getvalue()
    place = file.tell()
    try:
        return file.read(SIZE_LIMIT + 1)
    finally:
        file.seek(place)


_REDUCERS: dict[type, Any] = {
    torch.jit.ScriptFunction: _reduce_script,
    type(threading.Lock()): lambda _: (threading.Lock, ()),
    type(threading.RLock()): lambda _: (threading.RLock, ()),
    io.TextIOWrapper: _as(io.StringIO),
    io.BufferedReader: _as(io.BytesIO),
    io.BufferedWriter: _as(io.BytesIO),
    io.BufferedRandom: _as(io.BytesIO),
    OutStream: lambda stream: (getattr, (sys, "stderr" if stream.name == "stderr" else "stdout")),
}
"""What nobody can pickle, and a function that is right may hold: each is another one there."""


@contextlib.contextmanager
def _by_value(folders: tuple[str, ...]) -> Iterator[None]:
    """Let modules that are files beside the notebook be pickled with their content."""
    modules = [
        module
        for module in list(sys.modules.values())
        if type(module) is ModuleType
        and module.__name__ in sys.modules
        and is_local_file(module.__dict__.get("__file__"), folders)
    ]
    with contextlib.ExitStack() as stack:
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
            stack.callback(cloudpickle.unregister_pickle_by_value, module)
        yield
