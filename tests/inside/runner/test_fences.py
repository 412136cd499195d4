"""Fenced memory: what lies beside an array cannot be touched, or shows that it was."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from grader.inside.runner.arena import PAGE, FencedMemory


def ending(act: Callable[[], object]) -> int:
    """Do something in a child of this process; return its exit code, minus a signal's number."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # pytest's would tell of it at length
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def poke(address: int) -> Callable[[], object]:
    return lambda: ctypes.memset(address, 7, 1)


class TestFencedMemory:
    @pytest.fixture
    def memory(self) -> FencedMemory:
        return FencedMemory(5 * PAGE)

    def test_what_is_open_can_be_written_and_keeps_it(self, memory: FencedMemory) -> None:
        array = memory.open(PAGE + 64, 2 * PAGE)
        array[:] = 3
        assert 2 * PAGE == array.size
        assert (array == 3).all()
        assert memory.is_intact()

    @pytest.mark.parametrize("beside", [-64 - 1, 2 * PAGE - 64])
    def test_the_pages_beside_it_cannot_be_touched(self, memory: FencedMemory, beside: int) -> None:
        start = memory.open(64, PAGE).ctypes.data
        assert -signal.SIGSEGV == ending(poke(start + beside))
        assert 0 == ending(poke(start))

    @pytest.mark.parametrize("beside", [-1, PAGE])
    def test_what_was_written_next_to_it_shows(self, memory: FencedMemory, beside: int) -> None:
        start = memory.open(64, PAGE).ctypes.data
        poke(start + beside)()
        assert not memory.is_intact()

    def test_a_move_closes_what_was_open(self, memory: FencedMemory) -> None:
        before = memory.open(0, PAGE).ctypes.data
        memory.open(4 * PAGE, PAGE)
        assert -signal.SIGSEGV == ending(poke(before))

    def test_an_array_at_the_end_is_followed_by_closed_pages(self, memory: FencedMemory) -> None:
        array = memory.open_at_end(3 * 64, 64)
        assert -signal.SIGSEGV == ending(poke(array.ctypes.data + array.size))

    def test_alignment_comes_before_the_end(self, memory: FencedMemory) -> None:
        array = memory.open_at_end(100, 64)
        assert 0 == array.ctypes.data % 64
        assert 28 == -(array.ctypes.data + array.size) % PAGE

    def test_what_is_locked_can_be_read_only(self, memory: FencedMemory) -> None:
        array = memory.open(0, PAGE)
        array[:] = 5
        memory.lock()
        assert 5 == array[0]
        assert -signal.SIGSEGV == ending(poke(array.ctypes.data))
        memory.unlock()
        array[:] = np.uint8(6)
        assert 6 == array[0]


def test_the_stack_of_a_block_has_closed_memory_on_both_sides() -> None:
    """Blocks run on the process's first stack, TVM's other threads on stacks of the C library's."""
    lines = Path("/proc/self/maps").read_text("ascii").splitlines()
    regions = [line.split(maxsplit=5) for line in lines]
    spans = [tuple(int(end, 16) for end in region[0].split("-")) for region in regions]
    place = next(place for place, region in enumerate(regions) if region[-1].strip() == "[stack]")
    start, end = spans[place]
    assert spans[place - 1][1] + PAGE <= start
    assert place + 1 == len(spans) or end + PAGE <= spans[place + 1][0]
