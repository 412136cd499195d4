"""What processes take that somebody else has started, looked at from outside."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

_LOOK_SECONDS = 0.01


class Watch:
    """Adds up what processes take that `find` returns, as long as they live for 10 ms."""

    def __init__(self, find: Callable[[], Iterable[int]]) -> None:
        self._find = find
        self.megabytes = 0.0
        self._seconds: dict[int, float] = {}
        self._has_ended = threading.Event()

    @property
    def seconds(self) -> float:
        """Seconds of a processor of all of them."""
        return sum(self._seconds.values())

    @contextlib.contextmanager
    def watching(self) -> Generator[None, None, None]:
        """Look at them until the body ends."""
        thread = threading.Thread(target=self._look)
        thread.start()
        try:
            yield
        finally:
            self._has_ended.set()
            thread.join()

    def _look(self) -> None:
        while not self._has_ended.wait(_LOOK_SECONDS):
            for process in self._find():
                self._note(process)

    def _note(self, process: int) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            status = Path(f"/proc/{process}/status").read_text()
            kilobytes = int(status.split("VmHWM:")[1].split()[0])
            self.megabytes = max(self.megabytes, kilobytes / 1024)
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            self._seconds[process] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    """Return the processes that a process has forked."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*"):
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found
