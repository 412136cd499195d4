"""IRModules as they were at one moment, at next to no cost.

`update_func`, and a Schedule before its first primitive, change an IRModule in place. Its functions
are kept in a map that TVM copies on write, so a shallow clone that shares the map stays as it is,
and a map that is still the same object means that nothing has changed.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

import msgspec
import tvm

from grader.inside.kernel.own_calls import with_own_calls

_CACHED_DOCUMENTS = 6


class Snapshot:
    """An IRModule as it is now. Later changes in place do not reach it."""

    def __init__(self, module: Any) -> None:
        self.module = tvm.IRModule.clone(module)
        self._parts = _shared_parts(self.module)

    @property
    def key(self) -> tuple[int, ...]:
        """Identity of the content; it is unique for as long as the snapshot lives."""
        return tuple(int(part.__chandle__()) for part in self._parts)

    def is_current(self, module: Any) -> bool:
        """Say whether `module` still has this content."""
        return self.key == tuple(int(part.__chandle__()) for part in _shared_parts(module))


class Document(msgspec.Struct, frozen=True):
    """A module as TVM's graph JSON, with the SHA-256 of it."""

    content: bytes
    digest: bytes


class Serializer:
    """Saves snapshots. The last few documents are kept: one module often has several names."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, ...], tuple[Snapshot, Document]] = OrderedDict()

    def save(self, snapshot: Snapshot) -> Document:
        """Return the graph JSON. Raises what TVM raises for a module that cannot be saved."""
        key = snapshot.key
        if key not in self._kept:
            content = tvm.ir.save_json(with_own_calls(snapshot.module)).encode()
            document = Document(content, hashlib.sha256(content).digest())
            self._kept[key] = (snapshot, document)
        self._kept.move_to_end(key)
        while len(self._kept) > _CACHED_DOCUMENTS:
            self._kept.popitem(last=False)
        return self._kept[key][1]


def _shared_parts(module: Any) -> tuple[Any, ...]:
    parts = (module.functions, module.attrs, module.global_infos)
    return tuple(part for part in parts if part is not None)
