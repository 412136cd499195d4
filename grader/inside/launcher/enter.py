"""The child's way into its sandbox and control groups: each step takes something for good.

Order matters. Descriptors go first, while nothing can fail for want of rights; limits before the
change of user, because they are counted by user; capabilities after it, because it needs them; the
filter comes last, because it denies what the steps before it do.
"""

import contextlib
import errno
import fcntl
import os
import random
import resource
import signal
import socket
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence

from grader.inside.launcher import linux
from grader.inside.launcher.memory import field
from grader.inside.launcher.protocol import FIRST_DESCRIPTOR, Bounds, Confinement, Request

_STANDARD_ERROR = 2
_BADNESS = "500"
"""A sandbox that holds nothing yet: its warden knows more later (`usage.rate`)."""
_KEY_BYTES = 32
"""As multiprocessing draws them."""

_ABOVE_ALL = 256
"""Descriptors are moved above this number first, so that none is overwritten on its way down."""


def become(
    request: Request, standard_error: int, inherited: Sequence[int], others: Sequence[int]
) -> None:
    """Turn this process into the one that the request describes.

    `others` are the descriptors that are open beside standard error and the inherited ones. Raises
    OSError.
    """
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whoever started the grader may block some
    os.umask(0o022)
    linux.begin_session_keyring()
    keep_descriptors(standard_error, inherited, others)
    be_killed_first()
    set_limits(request.bounds)
    os.chdir(request.folder)
    replace_environment(request.environment)
    give_up_powers(request.confinement)
    reseed()


def close_all_but(kept: Collection[int]) -> None:
    """Close every descriptor but the standard ones and these. Needs this process in /proc."""
    with os.scandir("/proc/self/fd") as entries:
        numbers = [int(entry.name) for entry in entries]
    for number in numbers:
        if number > _STANDARD_ERROR and number not in kept:
            with contextlib.suppress(OSError):  # the listing's own descriptor is closed already
                os.close(number)


def send_descriptors(channel: socket.socket, payload: bytes, descriptors: Sequence[int]) -> None:
    """Send a message with descriptors. Raises OSError when its user has too many under way.

    The kernel counts those of a user together, and a program in a sandbox may be the same user: one
    kept a thousand in a socket's queue, and nobody beside it could be started. It is bounded by its
    own limit on open files, and this process by one that it may raise.
    """
    try:
        socket.send_fds(channel, [payload], list(descriptors))
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
        raise_open_files()
        socket.send_fds(channel, [payload], list(descriptors))


def raise_open_files() -> None:
    """Allow this process as many descriptors as it may allow itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def keep_descriptors(standard_error: int, inherited: Sequence[int], others: Sequence[int]) -> None:
    """Keep the inherited descriptors as 3, 4, 5 and so on; these and `others` are all there are.

    Standard input and output lead nowhere.
    """
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, _ABOVE_ALL) for number in inherited]
    os.dup2(standard_error, _STANDARD_ERROR)
    for number in (standard_error, *inherited, *others):
        os.close(number)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    for place, number in enumerate(moved, start=FIRST_DESCRIPTOR):
        os.dup2(number, place)
        os.close(number)


def be_killed_first() -> None:
    """Ask the kernel to end this process, and not the grader, when the machine has no memory."""
    # Not every /proc can be written to: the limits hold all the same.
    with (
        contextlib.suppress(OSError),
        open("/proc/self/oom_score_adj", "w", encoding="ascii") as file,  # noqa: PTH123
    ):
        file.write(_BADNESS)


def set_limits(bounds: Bounds) -> None:
    """Set resource limits, none above what this process may have itself."""
    for kind, (soft, hard) in bounds.limits.items():
        _, allowed = resource.getrlimit(kind)
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))


def replace_environment(environment: Mapping[str, str]) -> None:
    """Put these variables in the place of all that the launcher had, and of what it took from them.

    A module that looks for a place of temporary files when it is imported, as torchvision's do,
    settles for all children where it is: in the host's /tmp, which they may share or not reach.
    """
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None


def give_up_powers(confinement: Confinement) -> None:
    """Give up user id, capabilities, what Landlock hides, and system calls."""
    confines = bool(confinement.readable or confinement.writable)
    if confinement.namespaces or confinement.user >= 0:
        linux.drop_bounding_capabilities()
    if confinement.user >= 0:
        os.setgroups([])
        os.setresgid(confinement.user, confinement.user, confinement.user)
        os.setresuid(confinement.user, confinement.user, confinement.user)
    if confinement.namespaces or confinement.user >= 0:
        linux.drop_capabilities()
    linux.gain_nothing_by_exec()
    linux.die_with_parent(signal.SIGKILL)  # after the change of user, which would undo it
    if confines:
        _own_proc()
        linux.confine(confinement.readable, confinement.listed, confinement.writable)
    if confinement.filter:
        linux.install_filter(confinement.filter)
    _own_proc()


def _own_proc() -> None:
    """Get back the files in /proc that the launcher gave up: not sooner than need be.

    Without namespaces or Landlock another submission of the same user could write into the memory
    of this process, and it must not have more powers than that one by then.
    """
    linux.allow_own_proc()
    be_killed_first()  # the files may have been somebody else's when it was tried before


def reseed() -> None:
    """Draw new states for the random generators that this process has inherited, and a new key.

    Otherwise every submission would meet the same random numbers, and could foresee another's.
    """
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None:  # whoever has the key can have another's managers call anything
        processes.current_process().authkey = os.urandom(_KEY_BYTES)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)


_NEARLY = 2**20
"""A group is never filled to the last byte of its limit."""


class ControlGroups:
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
