"""What the machine has left, and whose turn it is to give something back when that is little.

Every warden decides for its own sandbox, by the same rule: a sandbox is ended when what is left is
less than a quarter of what it holds. So the largest goes first, long before the small ones and
before the kernel has to choose, and nobody has to compare.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

_SHARE = 4
"""A sandbox may hold this many times what is left."""

_LITTLE = 10
"""More than one tenth of the machine is never little."""

_SOON = 4

_VMSTAT = "/proc/vmstat"
_LIMITS = ("memory.max", "memory.limit_in_bytes")
_USES = ("memory.current", "memory.usage_in_bytes")


class MachineMemory:
    """The memory of this machine, and of the control groups `above` that everything here is in.

    Files are opened at once: a warden enters a place in which they cannot be seen.
    """

    def __init__(self, above: Sequence[str] = (), meminfo: str = "/proc/meminfo") -> None:
        self._meminfo = os.open(meminfo, os.O_RDONLY)
        self._vmstat = os.open(_VMSTAT, os.O_RDONLY)
        self._groups = [
            tuple(_open(folder, names) for names in (_LIMITS, _USES, ("memory.stat",)))
            for folder in above
        ]
        self.total = min([self._told(b"MemTotal:"), *(_read(each[0]) for each in self._groups)])
        self._killed = _kills(self._vmstat)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """All files that are open."""
        groups = (number for each in self._groups for number in each)
        return (self._meminfo, self._vmstat, *groups)

    def available(self) -> int:
        """Return bytes that programs can still be given; what is only cached counts as left."""
        return min([self._told(b"MemAvailable:"), *(_left(*each) for each in self._groups)])

    def is_short_for(self, used: int) -> bool:
        """Say whether a sandbox that holds `used` bytes must be ended, so that others go on."""
        return self.available() < min(used // _SHARE, self.total // _LITTLE)

    def is_getting_short(self) -> bool:
        """Say whether it is time to look more often."""
        return self.available() < self.total // _SOON

    def has_killed(self) -> bool:
        """Say whether the kernel has killed a process for want of memory since this was made."""
        return _kills(self._vmstat) > self._killed

    def _told(self, name: bytes) -> int:
        return field(os.pread(self._meminfo, 2**14, 0), name) * 1024


def memory_left(above: Sequence[str] = ()) -> int:
    """Return bytes that programs can still be given, on this machine and in the groups `above`."""
    machine = MachineMemory(above)
    try:
        return machine.available()
    finally:
        for number in machine.descriptors:
            os.close(number)


def kernel_kills() -> int:
    """Return how many processes of this machine the kernel has killed for want of memory."""
    number = os.open(_VMSTAT, os.O_RDONLY)
    try:
        return _kills(number)
    finally:
        os.close(number)


def _kills(vmstat: int) -> int:
    return field(os.pread(vmstat, 2**16, 0), b"oom_kill")


def _left(limit: int, use: int, stat: int) -> int:
    told = os.pread(stat, 2**14, 0)
    cached, in_use = (
        field(told, b"total_" + name) or field(told, name)
        for name in (b"inactive_file", b"active_file")
    )
    # Libraries that are in use are cached, too: without them, everything waits for the disk.
    return _read(limit) - _read(use) + cached + in_use // 2


def _open(folder: str, names: Sequence[str]) -> int:
    """Open the file of the version of control groups that is in use."""
    name = next(name for name in names if os.path.exists(f"{folder}/{name}"))  # noqa: PTH110
    return os.open(f"{folder}/{name}", os.O_RDONLY)


def _read(number: int) -> int:
    text = os.pread(number, 64, 0).strip()
    return int(text) if text != b"max" else 2**63


def field(text: bytes, name: bytes) -> int:
    """Return the number behind a name at the beginning of a line; 0 where there is none."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name:
            return int(words[1])
    return 0
