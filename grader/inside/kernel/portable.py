"""Pickling an external function by value, so that it works where the notebook is not."""

from __future__ import annotations

import contextlib
import io
import operator
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import cloudpickle
import torch
import tvm
import tvm_ffi
from ipykernel.iostream import OutStream

from grader.inside.kernel.error_summaries import describe_error, error_name
from grader.inside.kernel.externs import ExternRegistry
from grader.inside.kernel.objects import is_a, is_alive, is_local_file, type_name

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


def _reduce_text(file: Any) -> Any:
    """Take of an open text what is left of it to read; what is written to it, nobody reads."""
    return io.StringIO, (_rest(file, io.StringIO),)


def _reduce_bytes(file: Any) -> Any:
    return io.BytesIO, (_rest(file, io.BytesIO),)


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
    io.TextIOWrapper: _reduce_text,
    io.BufferedReader: _reduce_bytes,
    io.BufferedWriter: _reduce_bytes,
    io.BufferedRandom: _reduce_bytes,
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
