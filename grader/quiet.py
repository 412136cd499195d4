"""Quiet for measuring: many may work side by side, or one alone.

Gradings run their notebooks side by side. While one of them times a schedule, none of the others
may use a processor: they wait until it has finished, and it waits until they have.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Quiet:
    """A lock that is held shared by those who work, or exclusively by the one who measures.

    Who came first gets it first. So whoever wants it exclusively holds up those who come later and
    waits only for those who came earlier; and nobody waits for ever. It cannot be taken twice by
    the same thread.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._sharing = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Work beside others in the body of a with statement, and beside nobody who measures."""
        with self._turn(lambda: not self._alone):
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Have the machine alone in the body of a with statement."""
        with self._turn(lambda: not self._alone and self._sharing == 0):
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

    @contextmanager
    def _turn(self, is_free: Callable[[], bool]) -> Iterator[None]:
        """Wait in the queue until it is this thread's turn; the body then takes the lock."""
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                self._changed.wait_for(lambda: self._queue[0] is ticket and is_free())
                yield
            finally:  # also when the wait was interrupted: those behind must not wait for it
                self._queue.remove(ticket)
                self._changed.notify_all()
