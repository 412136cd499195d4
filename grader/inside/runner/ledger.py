"""What the timed loop writes down of each call, in memory that the called function has no way to.

Before a call the loop puts a number that is drawn at random into one item of the output, at a place
that is drawn at random; after it, it copies that item aside. So each call of a block leaves a value
that must be right for its input: a call that was skipped, or that worked on part of the output, is
seen afterwards, however it was done. A function that looked for what was put there would find
numbers like any others. Calls are counted in memory of their own.

A call costs two loads and three stores more, for all functions alike.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tvm

from grader.inside.runner.fences import FencedMemory
from grader.timing.blocks import MOST_CALLS_OF_A_BLOCK

TABLE = 4096
"""Places and numbers are drawn for so many calls; further ones have the same again."""

_ALIGNMENT = 64


class Slots(NamedTuple):
    """What calls of a block have left: `values` at the places `places` of their outputs."""

    calls: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]


class Ledger:
    """The tables of one arena; an output has `size` items.

    The loop takes its `count`, a tensor of one int64, and `pointers` to the other `tables`: places,
    numbers to put there, and the slots, one for each call of a block.
    """

    tables: Mapping[str, tuple[int, str]] = {
        "places": (TABLE, "int32"),
        "numbers": (TABLE, "float32"),
        "slots": (MOST_CALLS_OF_A_BLOCK, "float32"),
    }

    def __init__(self, size: int) -> None:
        self._size = size
        self._generator = np.random.default_rng()
        self._fences: list[FencedMemory] = []
        self._count = self._array(1, "int64")
        arrays = [self._array(items, dtype) for items, dtype in self.tables.values()]
        self._places, self._numbers, self._slots = arrays
        self.count: Any = tvm.runtime.from_dlpack(self._count)
        self.pointers = [ctypes.c_void_p(each.ctypes.data) for each in arrays]
        self.arrays = (self._count, *arrays)
        self._slots.fill(np.nan)

    def _array(self, items: int, dtype: str) -> npt.NDArray[Any]:
        size = items * np.dtype(dtype).itemsize
        fence = FencedMemory(size)
        self._fences.append(fence)
        return fence.open_at_end(size, _ALIGNMENT).view(dtype)

    def begin(self, *, poison: bool = False) -> None:
        """Draw places and numbers anew, and forget the last block.

        With `poison` all numbers are NaN, as the output is, which is for a call by itself.
        """
        _, places, numbers, _ = self._fences
        for fence in (places, numbers):
            fence.unlock()
        self._places[:] = self._generator.integers(self._size, size=TABLE, dtype=np.int32)
        drawn = self._generator.standard_normal(TABLE, dtype=np.float32)
        self._numbers[:] = np.nan if poison else drawn
        for fence in (places, numbers):
            fence.lock()
        self._slots[: self.calls].fill(np.nan)
        self._count[0] = 0

    @property
    def calls(self) -> int:
        """Return how many calls were made since `begin`."""
        return min(max(int(self._count[0]), 0), len(self._slots))

    def is_intact(self) -> bool:
        """Say whether nothing was written beside the tables."""
        return all(fence.is_intact() for fence in self._fences)

    def read(self, calls: npt.NDArray[np.int32]) -> Slots:
        """Return copies of what some of the block's calls have left."""
        return Slots(calls, self._places[calls % TABLE], self._slots[calls])
