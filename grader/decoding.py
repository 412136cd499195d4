"""Types that may be decoded in any thread.

msgspec describes a Struct to itself when it first decodes one, and keeps that with the class. While
it does, other threads find the description half made: of 2,000 types that three threads decoded at
once, one ended the process with a segmentation fault, and others failed with a TypeError
(msgspec 0.22; `tests/test_decoding.py` shows it). `grader verify` and a batch decode in threads.
"""

from __future__ import annotations

from threading import Lock
from typing import TypeVar

import msgspec

T = TypeVar("T")

_PREPARED: set[object] = set()
_LOCK = Lock()


def prepared(kind: type[T]) -> type[T]:
    """Return a type, or a container of types, once msgspec has described it whole.

    Every `type=` of `msgspec.json.decode` and its kin goes through this one.
    """
    if kind not in _PREPARED:
        with _LOCK:
            msgspec.msgpack.Decoder(kind)
            _PREPARED.add(kind)
    return kind
