"""What the machine has left, and whose turn it is to give something back when that is little.

Every warden decides for its own sandbox, by the same rule: a sandbox is ended when what is left is
less than a quarter of what it holds. So the largest goes first, long before the small ones and
before the kernel has to choose, and nobody has to compare.
"""

import os
import socket
import struct
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

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


# How much memory sockets hold: their buffers are counted by no limit of a process.
#
# The kernel tells it over its own socket (sock_diag(7)). It tells of all sockets of the
# network namespace that the asking process is in, also of those that nobody has open: that wait in
# another socket's queue, or to be accepted.


_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_AND_DUMP = 0x301
_ERROR, _DONE = 2, 3
_ALL_STATES = 0xFFFFFFFF
_UNIX_PEER, _UNIX_QUEUES, _UNIX_MEMORY, _UNIX_USER = 2, 4, 5, 7
_UNIX_SHOW = 0x04 | 0x10 | 0x20 | 0x40
_INET_MEMORY = 7
_INET_SHOW = 1 << (_INET_MEMORY - 1)
_DATAGRAMS = (socket.IPPROTO_UDP, 136)
"""The second is UDP-Lite."""

_PAGE = os.sysconf("SC_PAGE_SIZE")
_FEW_BYTES = 64 * 2**20

_RECEIVED, _SENT, _QUEUED, _BACKLOG = 0, 2, 5, 7
"""Places in the kernel's list of what a socket holds (SK_MEMINFO_...)."""


class HeldSocket(NamedTuple):
    """A unix socket: its inode and its owner's user id (-1: unknown), and bytes that it holds.

    `peer` is the inode of the other end, 0 where that was closed. `waiting` says that something is
    in its queue.
    """

    inode: int
    user: int
    kind: int
    peer: int
    waiting: bool
    memory: int


def held_by_sockets(
    user: int | None, inodes: Collection[int] | None, statistics: int | None = None
) -> int:
    """Return bytes that sockets hold: those of a user, or of these inodes, or all there are.

    0 where the kernel does not tell. `statistics` is a descriptor of /proc/net/sockstat, which says
    at once that nobody on this machine has much in TCP; to ask for each socket takes milliseconds.
    """
    alone = user is None and inodes is None
    found = list(_unix_sockets())
    ends = {each.inode for each in found}
    ours = (
        each
        for each in found
        if alone or (each.user == user if inodes is None else each.inode in inodes)
    )
    held = sum(each.memory + _left_behind(each, ends) for each in ours)
    return held + (_held_by_internet(_protocols(statistics)) if alone else 0)


def can_count() -> bool:
    """Say whether this kernel tells what unix sockets hold."""
    one, other = socket.socketpair()
    with one, other:
        return any(True for _ in _unix_sockets())


def _left_behind(each: HeldSocket, ends: Collection[int]) -> int:
    """Return what a closed sender may have left in a queue: the kernel counts it nowhere any more.

    A queue of datagrams can be filled by several of them.
    """
    if not each.waiting or each.peer in ends:
        return 0
    largest = 2 * _number("/proc/sys/net/core/wmem_max", 212992)
    if each.kind != socket.SOCK_DGRAM:
        return largest
    return largest * (1 + _number("/proc/sys/net/unix/max_dgram_qlen", 10))


def _unix_sockets() -> Iterator[HeldSocket]:
    request = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _UNIX_SHOW, 0, 0)
    for answer in _ask(request):
        _, kind, _, _, inode = struct.unpack_from("=BBBBI", answer)
        told = _attributes(answer, 16)
        waiting = _words(told.get(_UNIX_QUEUES, b"")) if _UNIX_QUEUES in told else (0,)
        memory = _words(told.get(_UNIX_MEMORY, b""))
        user = _words(told[_UNIX_USER])[0] if _UNIX_USER in told else -1
        peer = _words(told[_UNIX_PEER])[0] if _UNIX_PEER in told else 0
        yield HeldSocket(inode, user, kind, peer, waiting[0] > 0, _total(memory))


def _protocols(statistics: int | None) -> tuple[int, ...]:
    if statistics is None:
        return (socket.IPPROTO_TCP, *_DATAGRAMS)
    words = os.pread(statistics, 4096, 0).partition(b"TCP:")[2].splitlines()[0].split()
    pages = int(words[words.index(b"mem") + 1])
    return _DATAGRAMS if pages * _PAGE < _FEW_BYTES else (socket.IPPROTO_TCP, *_DATAGRAMS)


def _held_by_internet(protocols: tuple[int, ...]) -> int:
    held = 0
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in protocols:
            request = struct.pack("=BBBBI", family, protocol, _INET_SHOW, 0, _ALL_STATES)
            for answer in _ask(request + bytes(48)):
                held += _total(_words(_attributes(answer, 72).get(_INET_MEMORY, b"")))
    return held


def _total(memory: tuple[int, ...]) -> int:
    padded = (*memory, *[0] * (_BACKLOG + 1 - len(memory)))
    return padded[_RECEIVED] + max(padded[_SENT], padded[_QUEUED]) + padded[_BACKLOG]


def _ask(request: bytes) -> Iterator[bytes]:
    """Yield the payload of each message of the kernel's answer."""
    head = struct.pack("=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_AND_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as channel:
        channel.send(head + request)
        while True:
            received = channel.recv(2**16)
            place = 0
            while place < len(received):
                length, kind = struct.unpack_from("=IH", received, place)
                if kind in (_ERROR, _DONE):  # an error: this kernel does not know the family
                    return
                yield received[place + 16 : place + length]
                place += length + 3 & ~3


def _attributes(answer: bytes, place: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while place + 4 <= len(answer):
        length, kind = struct.unpack_from("=HH", answer, place)
        found[kind] = answer[place + 4 : place + length]
        place += max(length + 3 & ~3, 4)
    return found


def _words(content: bytes) -> tuple[int, ...]:
    count = len(content) // 4
    return struct.unpack(f"={count}I", content[: 4 * count])


def _number(path: str, otherwise: int) -> int:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return int(file.read())
    except FileNotFoundError:  # some files of /proc are not shown in a box
        return otherwise


def held_unseen(descriptors: int) -> int:
    """Return bytes that sockets may hold behind so many descriptors that cannot be looked at."""
    return descriptors * 2 * _number("/proc/sys/net/core/wmem_max", 212992)


def inodes_of(processes: Collection[int]) -> set[int]:
    """Return the inodes of the sockets that processes have open, as far as they let it be seen."""
    found: set[int] = set()
    for number in processes:
        found.update(_open_sockets(f"/proc/{number}/fd"))
    return found


def _open_sockets(folder: str) -> Iterator[int]:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")  # noqa: PTH115
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if target.startswith("socket:["):
            yield int(target[8:-1])
