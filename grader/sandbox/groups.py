"""Control groups: in one of its own, a sandbox is charged all that it makes the kernel keep.

That is more than limits of processes and looks from outside can count: pages of its files in
memory, buffers of sockets and pipes, tables of the kernel. And a group that is full loses processes
of its own, when without it the kernel would choose among all of the machine's.

Groups are made below the one that the grader is in, where it may make any: as root, or where a
group was delegated to it. What remains after a grader was killed, the next one removes.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from grader.errors import SandboxError
from grader.language import say
from grader.machine.cpus import (
    Files,
    Hierarchy,
    hierarchies,
    own_folders,
    read_number,
    read_text,
)

SWITCH = "GRADER_CONTROL_GROUPS"
"""Set to "off" in the environment, no groups are made: for a machine whose groups are not to be
touched, and for tests of what there is without them."""

_NAME = "grader-{space}-{pid}-{start}-{number}"
_CONTROLLERS = ("memory", "pids", "cpu")
_LEAF = "self"
_REMOVE_SECONDS = 2.0
_PAUSE = 0.005
_SHARES = 1024
_WEIGHT = 100
_HIGHEST_WEIGHT = 10_000


class Quota(msgspec.Struct, frozen=True):
    """What a group may use: bytes of memory, and processes and threads."""

    memory: int
    processes: int


class Groups:
    """Makes groups in `bases`: the folder for each controller, the same one in version 2.

    `above` are the folders of groups that bound the memory of all of them.
    """

    def __init__(self, bases: Mapping[str, Path], above: tuple[Path, ...], *, unified: bool):
        self._bases = bases
        self._unified = unified
        self._numbers = itertools.count()
        self.above = above

    @property
    def version(self) -> int:
        """The version of control groups: 1 or 2."""
        return 2 if self._unified else 1

    @property
    def controllers(self) -> tuple[str, ...]:
        """What is counted: "memory", and "pids" and "cpu" where this machine can."""
        return tuple(self._bases)

    def make(self, quota: Quota) -> BoxGroup:
        """Make a group. Raises SandboxError when the kernel refuses."""
        name = _own_name(next(self._numbers))
        folders = tuple(dict.fromkeys(base / name for base in self._bases.values()))
        group = BoxGroup(folders)
        try:
            for folder in folders:
                folder.mkdir()
            for controller, base in self._bases.items():
                _limit(base / name, controller, quota, unified=self._unified)
        except OSError as error:
            group.remove()
            raise SandboxError(
                say("no-control-group-can-made-for-sandbox", error=str(error)),
                say("set-off-disable-them", variable=SWITCH),
            ) from None
        return group

    def sweep(self) -> None:
        """Remove the groups of graders that are gone. One with a process in it stays.

        So do those of other process namespaces, where a container shares the machine's groups: to
        look for a grader there is in vain, and a group that it has just made has nobody in it yet.
        """
        pattern = _NAME.format(space=_space(), pid="*", start="*", number="*")
        for base in set(self._bases.values()):
            for folder in base.glob(pattern):
                if not _lives(folder.name):
                    with contextlib.suppress(OSError):  # it is in use, or another grader was faster
                        folder.rmdir()


class BoxGroup:
    """The group of one sandbox: one folder for each hierarchy."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders

    def remove(self) -> None:
        """Remove the folders, once everything in them has ended. May be called again.

        A process may be dying for a moment after its end was told. One that does not end for longer
        keeps the group, which the next grader removes.
        """
        deadline = time.monotonic() + _REMOVE_SECONDS
        for folder in self.folders:
            while _is_busy(folder) and time.monotonic() < deadline:
                time.sleep(_PAUSE)


def find_groups(
    files: Files | None = None, environment: Mapping[str, str] = os.environ
) -> Groups | None:
    """Return what makes groups here; None where none can be made that count memory."""
    if environment.get(SWITCH) == "off":
        return None
    files = files or Files()
    found = list(hierarchies(files))
    for unified in (True, False):
        groups = _find_of_version(files, [each for each in found if each.unified is unified])
        if groups is not None:
            groups.sweep()
            if _works(groups):
                return groups
    return None


def bounding_folders(files: Files | None = None) -> tuple[Path, ...]:
    """Return the groups that this process is in and that have less memory than the machine."""
    files = files or Files()
    return tuple(
        folder
        for hierarchy in hierarchies(files)
        if hierarchy.unified or "memory" in hierarchy.controllers
        for folder in own_folders(files, hierarchy)
        if _is_bounded(folder)
    )


def _find_of_version(files: Files, found: list[Hierarchy]) -> Groups | None:
    bases: dict[str, Path] = {}
    for hierarchy in found:
        for controller in _CONTROLLERS:
            base = _base(files, hierarchy, controller)
            if base is not None:
                bases.setdefault(controller, base)
    if "memory" not in bases:
        return None
    if found[0].unified:  # one group has all of them there
        bases = {name: base for name, base in bases.items() if base == bases["memory"]}
    return Groups(bases, bounding_folders(files), unified=found[0].unified)


def _base(files: Files, hierarchy: Hierarchy, controller: str) -> Path | None:
    """Return the folder in which groups with this controller can be made, if there is one."""
    own, *higher = own_folders(files, hierarchy)
    if own.name == _own_name(_LEAF):  # this process has made room there before
        own, *higher = higher
    if not hierarchy.unified:
        return own if controller in hierarchy.controllers and os.access(own, os.W_OK) else None
    candidates = (own, *higher[-1:])  # its own group, or the highest one, which only root may use
    return next((each for each in candidates if _hands_down(each, controller)), None)


def _hands_down(folder: Path, controller: str) -> bool:
    """Have a group of version 2 give a controller to those below it; say whether it does.

    That fails with EBUSY while processes are in the group itself. If this is the only one, it goes
    into a group below; others are not moved about.
    """
    if not os.access(folder, os.W_OK):
        return False
    if controller not in read_text(folder / "cgroup.controllers").split():
        return False
    handed = folder / "cgroup.subtree_control"
    if controller in read_text(handed).split():
        return True
    try:
        if read_text(folder / "cgroup.procs").split() == [str(os.getpid())]:
            leaf = folder / _own_name(_LEAF)
            leaf.mkdir(exist_ok=True)
            _write(leaf / "cgroup.procs", "0")
        _write(handed, f"+{controller}")
    except OSError:
        return False
    return True


def _limit(folder: Path, controller: str, quota: Quota, *, unified: bool) -> None:
    """Write the limits of one controller. Those with a question mark are not in every kernel."""
    cpus = len(os.sched_getaffinity(0))
    weight = min(_WEIGHT * cpus, _HIGHEST_WEIGHT)
    settings = {
        ("memory", True): {
            "memory.max": quota.memory,
            "memory.swap.max?": 0,
            "memory.oom.group?": 1,
        },
        ("memory", False): {
            "memory.limit_in_bytes": quota.memory,
            "memory.memsw.limit_in_bytes?": quota.memory,
            "memory.kmem.tcp.limit_in_bytes?": quota.memory,
        },
        ("pids", True): {"pids.max": quota.processes},
        ("pids", False): {"pids.max": quota.processes},
        # Beside each other, sandboxes weigh the same, however many threads they have.
        ("cpu", True): {"cpu.weight": weight},
        ("cpu", False): {"cpu.shares": _SHARES * cpus},
    }
    for name, value in settings[controller, unified].items():
        path = folder / name.removesuffix("?")
        if path.exists() or not name.endswith("?"):
            _write(path, str(value))


def _works(groups: Groups) -> bool:
    """Say whether a process can be put into a group: each system has its own reasons against it."""
    try:
        group = groups.make(Quota(memory=2**30, processes=64))
    except SandboxError:
        return False
    script = 'for file in "$@"; do echo 0 > "$file" || exit 1; done'
    entrances = [str(folder / "cgroup.procs") for folder in group.folders]
    done = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", script, "sh", *entrances], capture_output=True, check=False
    )
    group.remove()
    return done.returncode == 0


def _own_name(number: int | str) -> str:
    pid = os.getpid()
    return _NAME.format(space=_space(), pid=pid, start=_start_of(pid), number=number)


def _space() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _lives(name: str) -> bool:
    """Say whether the grader is there that a group is named after."""
    _, _, pid, start, *_ = name.split("-")
    return start != "0" and start == _start_of(pid)


def _start_of(pid: int | str) -> str:
    """Return when a process was started, which no later one of the same number shares."""
    fields = read_text(Path(f"/proc/{pid}/stat")).rpartition(") ")[2].split()
    return fields[19] if len(fields) > 19 else "0"


def _is_bounded(folder: Path) -> bool:
    for name in ("memory.max", "memory.limit_in_bytes"):
        limit = read_number(folder / name)
        if limit is not None:
            return limit < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return False


def _is_busy(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def _write(path: Path, text: str) -> None:
    """Write to a file of the kernel at once: a buffer would hide its refusal."""
    number = os.open(path, os.O_WRONLY)
    try:
        os.write(number, text.encode())
    finally:
        os.close(number)
