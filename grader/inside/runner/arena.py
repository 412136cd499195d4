"""The arrays that timed functions work on, between closed pages, and the ledger of calls.

The pages around an array may be neither read nor written. Of the pages that it lies on, what is
left before and behind it is filled with a pattern, which shows what was written there.

Before a call the loop puts a number that is drawn at random into one item of the output, at a place
that is drawn at random; after it, it copies that item aside. So each call of a slice leaves a value
that must be right for its input: a call that was skipped, or that worked on part of the output, is
seen afterwards, however it was done. A function that looked for what was put there would find
numbers like any others. Calls are counted in memory of their own, all functions' together: each
has another input than the call before it, so nobody finds the answer in the output.

Such a call costs two loads and three stores more, for all functions alike.
"""

import ctypes
import math
import mmap
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tvm

from grader.inside.common.failure import TaskError
from grader.inside.runner.signature import OUTPUT, Arrays, Shape, Values
from grader.messages.frames import number_type
from grader.messages.runner import integer_poison
from grader.timing.slices import CALLS_OF_A_SLICE, FUNCTIONS, MOST_ROUNDS

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


TABLE = 2 * CALLS_OF_A_SLICE
"""Calls of a slice that are written down; further ones would have the same places again."""

STAMPS = 4 * FUNCTIONS * MOST_ROUNDS
"""Numbers of the clock: for each block of a slice two times, of two numbers each."""

ALIGNMENT = 64
"""What TVM demands of the address of an array, in bytes."""


class ArenaSlots(NamedTuple):
    """What calls of a slice have left: `values` at the places `places` of their outputs."""

    calls: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]
    values: Values


class Ledger:
    """The tables of one arena; an output has `size` items of a dtype.

    The loop takes its `count`, a tensor of one int64, and `pointers` to the other `tables`: places,
    numbers to put there, the slots, one for each call of a slice, and what the clock said.
    """

    def __init__(self, size: int, dtype: str = "float32") -> None:
        self.tables: Mapping[str, tuple[int, str]] = {
            "places": (TABLE, "int32"),
            "numbers": (TABLE, dtype),
            "slots": (TABLE, dtype),
            "stamps": (STAMPS, "int64"),
        }
        self._size, self._dtype = size, dtype
        self._generator = np.random.default_rng()
        self._fences: list[FencedMemory] = []
        self._count = self._array(1, "int64")
        arrays = [self._array(items, dtype) for items, dtype in self.tables.values()]
        self._places, self._numbers, self._slots, self._stamps = arrays
        self.count: Any = tvm.runtime.from_dlpack(self._count)
        self.pointers = [ctypes.c_void_p(each.ctypes.data) for each in arrays]
        self.arrays = (self._count, *arrays)
        self._slots[:] = unwritten(dtype, self._slots.size)

    def _array(self, items: int, dtype: str) -> npt.NDArray[Any]:
        item = number_type(dtype)
        fence = FencedMemory(items * item.itemsize)
        self._fences.append(fence)
        return fence.open_at_end(items * item.itemsize, ALIGNMENT).view(item)

    def begin(self, *, poison: bool = False) -> None:
        """Draw places and numbers anew, and forget the last slice.

        With `poison` all numbers are what is unwritten, as the output is, which is for a call by
        itself.
        """
        _, places, numbers, *_ = self._fences
        for fence in (places, numbers):
            fence.unlock()
        self._places[:] = self._generator.integers(self._size, size=TABLE, dtype=np.int32)
        self._numbers[:] = unwritten(self._dtype, TABLE) if poison else self._drawn()
        for fence in (places, numbers):
            fence.lock()
        self._slots[: self.calls] = unwritten(self._dtype, self.calls)
        self._count[0] = 0

    def _drawn(self) -> Values:
        if self._dtype == "bool":
            return np.asarray(self._generator.integers(2, size=TABLE) == 1)
        if self._dtype.startswith(("int", "uint")):
            ends = np.iinfo(self._dtype)
            kind: Any = np.dtype(self._dtype)
            drawn = self._generator.integers(ends.min, ends.max, TABLE, kind, endpoint=True)
            return np.asarray(drawn)
        normal = self._generator.standard_normal(TABLE, dtype=np.float32)
        return np.asarray(normal.astype(number_type(self._dtype)))

    @property
    def calls(self) -> int:
        """Return how many calls were made since `begin`."""
        return min(max(int(self._count[0]), 0), TABLE)

    def is_intact(self) -> bool:
        """Say whether nothing was written beside the tables."""
        return all(fence.is_intact() for fence in self._fences)

    def read(self, calls: npt.NDArray[np.int32]) -> ArenaSlots:
        """Return copies of what some of the slice's calls have left."""
        return ArenaSlots(calls, self._places[calls], self._slots[calls])

    def seconds(self, blocks: int) -> npt.NDArray[np.float64]:
        """Return what the clock said that each of the first blocks took, a nanosecond at least."""
        stamps = self._stamps[: 4 * blocks].reshape(blocks, 4)
        nanoseconds = (stamps[:, 2] - stamps[:, 0]) * 10**9 + stamps[:, 3] - stamps[:, 1]
        return np.asarray(np.maximum(1, nanoseconds) * 1e-9)


def unwritten(dtype: str, items: int) -> Values:
    """Return what stands in memory that no call has written yet: NaN, or integers in turn."""
    if dtype.startswith(("bool", "int", "uint")):
        return integer_poison(dtype, items)
    return np.full(items, np.nan, number_type(dtype))


PLACES = 4096
"""Places that an array may be moved to, `ALIGNMENT` apart: 64 pages of 64 lines."""

PLACEMENTS = 4
"""Placements of all arrays that are visited in turn: the same in every grading, as one of other
functions' would be luck."""


class Arena:
    """The arrays that all timed functions share, so that none has a better place in memory.

    `shapes` has the names of `arrays` in their order, `OUTPUT` as the last; `pointers` say where
    they are; those given are
    what the submission's function takes; `dtype` is that of the output. The `first` array holds the
    ring as rows of shape (ring, row), each padded to the alignment: `ring` inputs at a time, from
    `start` on. The originals are kept aside: before each block the arrays are made anew, whatever a
    function did to them.

    Each array lies between closed pages (`fences`). What calls leave is written down in the
    `ledger`.

    Where arrays lie decides about ten per cent of a function's time, by the low bits of their
    addresses and by which lines of the cache their pages share (T. Mytkowicz et al., "Producing
    wrong data without doing anything obviously wrong!", 2009). So slices move them within slabs of
    memory, to the same `PLACEMENTS` in every grading.
    """

    def __init__(
        self, arrays: Arrays, ring: int, shapes: dict[str, Shape], dtype: str = "float32"
    ) -> None:
        self.ring = ring
        self.first = arrays.first
        self.start = 0
        self.shapes: dict[str, Shape] = {**arrays.shapes(), **shapes}
        flat = arrays.data.reshape(len(arrays.data), -1)
        step = ALIGNMENT // flat.itemsize
        padding = -flat.shape[1] % step
        self._inputs = np.zeros((len(flat), flat.shape[1] + padding), flat.dtype)
        self._inputs[:, : flat.shape[1]] = flat
        self._originals = {
            arrays.first: self._inputs[:ring],
            **{name: each.reshape(self.shapes[name]) for name, each in arrays.fixed.items()},
            OUTPUT: unwritten(dtype, math.prod(self.shapes[OUTPUT])).reshape(self.shapes[OUTPUT]),
        }
        self.dtypes = {name: str(each.dtype) for name, each in self._originals.items()}
        self.row = self._inputs.shape[1]
        self._fences = {
            role: FencedMemory(original.nbytes + PLACES * ALIGNMENT)
            for role, original in self._originals.items()
        }
        self.ledger = Ledger(math.prod(self.shapes[OUTPUT]), dtype)
        self.arrays: dict[str, Values] = {}
        self.pointers: dict[str, ctypes.c_void_p] = {}
        self._place(dict.fromkeys(self._fences, PLACES))
        self.restore()

    def take_turn(self, turn: int, placement: int) -> None:
        """Let the ring be the inputs of a turn, and move all arrays to one of their placements.

        Inputs are there once the arena is restored.
        """
        self.start = turn % (len(self._inputs) // self.ring) * self.ring
        self._originals[self.first] = self._inputs[self.start : self.start + self.ring]
        generator = np.random.default_rng(placement % PLACEMENTS)
        self._place({role: int(generator.integers(PLACES)) for role in self._fences})

    def _place(self, places: dict[str, int]) -> None:
        for role, place in places.items():
            original = self._originals[role]
            memory = self._fences[role].open(place * ALIGNMENT, original.nbytes)
            view = memory.view(original.dtype).reshape(original.shape)
            self.arrays[role] = view
            self.pointers[role] = ctypes.c_void_p(view.ctypes.data)

    def is_untouched(self) -> bool:
        """Say whether all inputs are bit for bit what they were when they were restored."""
        return all(
            self.arrays[role].tobytes() == original.tobytes()
            for role, original in self._originals.items()
            if role != OUTPUT
        )

    def is_intact(self) -> bool:
        """Say whether nothing was written beside the arrays."""
        return self.ledger.is_intact() and all(each.is_intact() for each in self._fences.values())

    def restore(self) -> None:
        """Write all inputs anew, fill the output with what is unwritten, and begin a slice."""
        self.ledger.begin()
        for role, original in self._originals.items():
            np.copyto(self.arrays[role], original)

    def output(self) -> Values:
        """Return a copy of the output."""
        return np.array(self.arrays[OUTPUT])
