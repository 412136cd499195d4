"""Admission: programs are only started beside each other when the machine has room for them.

A limit on memory is far above what most submissions use. To reserve it for each would have a small
machine grade one after the other, for nothing. So a program is reckoned with its limit until
programs like it have shown what they use, and then with twice the median of that. Who takes more
than was reckoned may still take it, as long as the machine has it: the wardens watch that, and end
the largest first (`grader.inside.launcher.memory`).
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median_high

from grader.inside.launcher.memory import memory_left
from grader.sandbox.groups import bounding_folders

_SHARE = 0.9
"""Of what the machine has left when the first program is started; the grader needs some itself."""

_TIMES = 2
_LEAST = 512 * 2**20
_REMEMBERED = 101


def _left_here() -> int:
    return memory_left(tuple(map(str, bounding_folders())))


class Stay:
    """One program's time in a room. `peak`, in bytes, is to be set to what it has held at most."""

    def __init__(self) -> None:
        self.peak = 0


class Room:
    """The memory that programs share, in bytes. `left` says how much there is before the first.

    Who came first gets in first. Whoever needs more than there is gets in when nobody else is.
    """

    def __init__(self, left: Callable[[], int] = _left_here) -> None:
        self._left = left
        self._capacity: int | None = None
        self._taken = 0
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()
        self._peaks: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    @property
    def capacity(self) -> int:
        """Bytes that all programs together may be reckoned with."""
        with self._changed:
            return self._known_capacity()

    def reckoned(self, kind: str, limit: int) -> int:
        """Return how many bytes a program of a kind is taken to use, of the `limit` it may."""
        with self._changed:
            peaks = self._peaks[kind]
            return min(max(_TIMES * median_high(peaks), _LEAST), limit) if peaks else limit

    @contextmanager
    def taken(self, kind: str, limit: int) -> Iterator[Stay]:
        """Wait until there is room for a program of a kind, and have it in the body.

        Not to be nested: two who wait for each other's room would wait for ever.
        """
        need = self._wait(kind, limit)
        stay = Stay()
        try:
            yield stay
        finally:
            with self._changed:
                self._taken -= need
                if stay.peak:
                    self._peaks[kind].append(stay.peak)
                self._changed.notify_all()

    def _wait(self, kind: str, limit: int) -> int:
        ticket = object()
        with self._changed:
            capacity = self._known_capacity()
            self._queue.append(ticket)
            try:
                while True:
                    need = min(self.reckoned(kind, limit), capacity)
                    if self._queue[0] is ticket and self._taken + need <= capacity:
                        self._taken += need
                        return need
                    self._changed.wait()
            finally:  # also when the wait was interrupted: those behind must not wait for it
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _known_capacity(self) -> int:
        if self._capacity is None:
            self._capacity = int(_SHARE * self._left())
        return self._capacity
