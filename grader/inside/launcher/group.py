"""A child's way into the control groups that count its memory, its processes and its time."""

from __future__ import annotations

import os
from collections.abc import Sequence

from grader.inside.launcher.memory import field

_NEARLY = 2**20
"""A group is never filled to the last byte of its limit."""


class Group:
    """The control groups of one sandbox, as its warden has them open.

    They are opened before the sandbox is entered, where their folders cannot be seen. Raises
    OSError.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._entrances = [os.open(f"{each}/cgroup.procs", os.O_WRONLY) for each in folders]
        self._events = _open_any(folders, "memory.events")
        self._kills = _open_any(folders, "memory.oom_control")
        self._most = _open_any(folders, "memory.max_usage_in_bytes")
        self._limit = _open_any(folders, "memory.limit_in_bytes")

    @property
    def descriptors(self) -> tuple[int, ...]:
        """All files that are open."""
        others = (self._events, self._kills, self._most, self._limit)
        return (*self._entrances, *(number for number in others if number is not None))

    def enter(self) -> None:
        """Have this process, and all that it starts from now on, counted in the groups."""
        for number in self._entrances:
            os.write(number, b"0")

    def has_overflowed(self) -> bool:
        """Say whether the kernel has ended a process because this very group was full.

        That a process of the group was killed is not enough: the machine may have been full.
        """
        if self._events is not None:
            return field(_read(self._events), b"oom") > 0
        if self._kills is None or self._most is None or self._limit is None:
            return False
        is_full = int(_read(self._most)) >= int(_read(self._limit)) - _NEARLY
        return is_full and field(_read(self._kills), b"oom_kill") > 0


def _open_any(folders: Sequence[str], name: str) -> int | None:
    """Open a file of the group that has it: which one depends on the version of control groups."""
    for folder in folders:
        if os.path.exists(f"{folder}/{name}"):  # noqa: PTH110
            return os.open(f"{folder}/{name}", os.O_RDONLY)
    return None


def _read(number: int) -> bytes:
    return os.pread(number, 4096, 0)
