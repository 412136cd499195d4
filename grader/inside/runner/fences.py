"""Memory between closed pages: who walks out of an array falls into a hole at once.

The pages around an array may be neither read nor written. Of the pages that it lies on, what is
left before and behind it is filled with a pattern, which shows what was written there.
"""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np
import numpy.typing as npt

from grader.inside.common.failure import TaskError

PAGE = mmap.PAGESIZE
_LIBRARY = ctypes.CDLL(None, use_errno=True)
_CLOSED, _READABLE, _OPEN = 0, 1, 3  # PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE

_PATTERN = 0xA7

Bytes = npt.NDArray[np.uint8]


class FencedMemory:
    """Memory for `size` bytes at any of its places, all closed but what is opened.

    A page is closed at both ends at least. It is given back when nothing refers to it any more.
    """

    def __init__(self, size: int) -> None:
        self.size = -(-size // PAGE) * PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._memory = np.frombuffer(mmap.mmap(-1, self.size + 2 * PAGE, flags=flags), np.uint8)
        self._start, self._end = 0, 0
        self._left: list[Bytes] = []
        self._protect(0, len(self._memory), _CLOSED)

    def open(self, start: int, size: int) -> Bytes:
        """Open `size` bytes from the place `start` on, close all else, and return those.

        What was opened before must not be touched any more.
        """
        self._protect(self._start, self._end, _CLOSED)
        first = PAGE + start
        self._start, self._end = first // PAGE * PAGE, -(-(first + size) // PAGE) * PAGE
        self._protect(self._start, self._end, _OPEN)
        self._left = [
            self._memory[self._start : first],
            self._memory[first + size : self._end],
        ]
        for each in self._left:
            each.fill(_PATTERN)
        return self._memory[first : first + size]

    def open_at_end(self, size: int, alignment: int) -> Bytes:
        """Open bytes that end where the closed pages begin, as far as their alignment allows."""
        return self.open((self.size - size) // alignment * alignment, size)

    def is_intact(self) -> bool:
        """Say whether nothing was written beside what is open."""
        return all(bool((each == _PATTERN).all()) for each in self._left)

    def lock(self) -> None:
        """Let what is open be read only."""
        self._protect(self._start, self._end, _READABLE)

    def unlock(self) -> None:
        """Let what is open be written again."""
        self._protect(self._start, self._end, _OPEN)

    def _protect(self, start: int, end: int, rights: int) -> None:
        if start == end:
            return
        address = ctypes.c_void_p(self._memory.ctypes.data + start)
        if _LIBRARY.mprotect(address, ctypes.c_size_t(end - start), ctypes.c_int(rights)):
            reason = os.strerror(ctypes.get_errno())
            raise TaskError("time", "NoFence", f"Pages of memory could not be closed: {reason}.")
