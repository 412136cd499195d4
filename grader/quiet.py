"""Quiet for measuring: many may work side by side, or one alone.

Gradings run their notebooks side by side. While one of them times a schedule, none of the others
may use a processor: they wait until it has finished, and it waits until they have. Nobody waits for
work that stands aside: it is stopped where it is, and goes on afterwards.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Pausable(Protocol):
    """Work in another process, which can be stopped at any moment."""

    def pause(self) -> None:
        """Stop it; harmless where it has ended."""

    def resume(self) -> None:
        """Let it go on; harmless where it has ended."""


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
        self._aside: list[Pausable] = []

    @contextmanager
    def aside(self, work: Pausable) -> Iterator[None]:
        """Stop work whenever somebody measures, as long as the body of a with statement runs.

        A file that takes long to read must not keep others from measuring; nor may it disturb them.
        """
        with self._changed:
            self._aside.append(work)
            if self._alone:
                work.pause()
        try:
            yield
        finally:
            with self._changed:
                self._aside.remove(work)

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
            for work in self._aside:
                work.pause()
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                for work in self._aside:
                    work.resume()
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
