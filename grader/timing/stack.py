"""Where the stack lies while a block is measured.

Compiled loops spill vectors of 64 bytes to a stack that the system aligns to 16. At one of its four
places no vector crosses a line of the cache, and such a function is ten per cent faster there. The
place is decided when a process starts, so without this every run would favour other functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TypeVar

PLACES = 4
"""Places of a stack aligned to 16 bytes within a line of 64 bytes."""

_IN_REGISTERS = 8
"""So many integer arguments or fewer are passed in registers (6 on x86-64, 8 on AArch64)."""

Result = TypeVar("Result")


def call_at(place: int, function: Callable[[], Result]) -> Result:
    """Call a function with the stack moved by `place` times 16 bytes; return what it returns.

    Arguments that do not fit into registers are what moves it. Whatever it raises is raised here.
    """
    count = _IN_REGISTERS + 2 * place
    results: list[Result] = []
    errors: list[BaseException] = []

    def call(*_: int) -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - it cannot pass through a C function
            errors.append(error)

    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)
    kind(call)(*[0] * count)
    if errors:
        raise errors[0]
    return results[0]
