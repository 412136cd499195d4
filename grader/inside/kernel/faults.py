"""Errors and interrupts that meet the capture itself: they must not reach the student's cell."""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from collections import deque
from collections.abc import Iterator
from types import FrameType

_KEPT = 20


class Faults:
    """Keeps the last errors as text, for a developer who looks into a kernel."""

    def __init__(self) -> None:
        self.texts: deque[str] = deque(maxlen=_KEPT)

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Run the body up to its first error, and keep that. Interrupts go through."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - nothing of it may reach the cell
            self.texts.append("".join(traceback.format_exception(error)))

    @contextlib.contextmanager
    def sealed(self) -> Iterator[None]:
        """Run the body up to its first error or interrupt, and keep that."""
        try:
            with self.shielded():
                yield
        except BaseException as error:  # noqa: BLE001 - a cell's time limit interrupts what runs
            self.texts.append("".join(traceback.format_exception(error)))


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off the interrupt of a cell's time limit to the end of the body.

    A signal mask would not do: another thread takes the signal, and Python raises it in this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    handler = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)
