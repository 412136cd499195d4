"""What the kernel shows of control groups: where they are, and how much they leave us.

A group that has used up its quota is stopped until its next period begins, for tens of
milliseconds. A timed block that meets such a pause says nothing about the function in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec


class Files(msgspec.Struct, frozen=True):
    """The roots that everything here is read below: usually /, /proc and /sys.

    A file that is not there, or that this user may not read, is no error: nothing is known then.
    """

    root: Path = Path("/")
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")

    @property
    def cpus(self) -> Path:
        """The folder that holds one folder for each CPU."""
        return self.sys / "devices/system/cpu"


def read_text(path: Path) -> str:
    """Return the stripped text of a file, empty where there is none or it cannot be read.

    Files below /sys that exist may still refuse: a governor's does on some virtual machines.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def read_number(path: Path) -> int | None:
    """Return the whole number that a file holds, None where it holds none."""
    text = read_text(path)
    return int(text) if text.removeprefix("-").isdecimal() else None


_ESCAPE = re.compile(r"\\(\d{3})")


class Hierarchy(msgspec.Struct, frozen=True):
    """A hierarchy of control groups: where it is mounted, and which group of it lies there.

    `unified` says that it is of version 2; `controllers` are what one of version 1 counts.
    """

    mount: Path
    group: PurePosixPath
    unified: bool
    controllers: tuple[str, ...] = ()


def hierarchies(files: Files) -> Iterator[Hierarchy]:
    """Yield those that are mounted: lines of /proc/self/mountinfo, see proc(5)."""
    for line in read_text(files.proc / "self/mountinfo").splitlines():
        mounted, separator, file_system = line.partition(" - ")
        fields, kinds = mounted.split(), file_system.split()
        if not separator or len(fields) < 5 or len(kinds) < 3:
            continue
        group, mount = PurePosixPath(_unescape(fields[3])), Path(_unescape(fields[4]))
        if kinds[0] == "cgroup2":
            yield Hierarchy(mount, group, unified=True)
        elif kinds[0] == "cgroup":
            yield Hierarchy(mount, group, unified=False, controllers=tuple(kinds[2].split(",")))


def own_folders(files: Files, hierarchy: Hierarchy) -> Iterator[Path]:
    """Yield the folder of this process's group and those of the groups above, as far as mounted."""
    group = _own_group(files, hierarchy)
    inside = group.is_relative_to(hierarchy.group) and ".." not in group.parts
    below = group.relative_to(hierarchy.group) if inside else PurePosixPath()
    for part in (below, *below.parents):
        yield hierarchy.mount / part


def _own_group(files: Files, hierarchy: Hierarchy) -> PurePosixPath:
    """Return the group of this process: a line `number:controllers:path` of /proc/self/cgroup."""
    for line in read_text(files.proc / "self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        named = set(controllers.split(",")) & set(hierarchy.controllers)
        if number == "0" if hierarchy.unified else named:
            return PurePosixPath(path)
    return PurePosixPath("/")


def _unescape(text: str) -> str:
    """Undo what the kernel does to blanks and backslashes in a path."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def cpu_quota(files: Files) -> float | None:
    """Return the least quota of this process's groups and all groups above, in CPUs.

    None where there is none, or none that can be seen: what lies above a container's own group is
    hidden inside.
    """
    quotas = [
        quota
        for hierarchy in hierarchies(files)
        if hierarchy.unified or "cpu" in hierarchy.controllers
        for folder in own_folders(files, hierarchy)
        if (quota := _quota(folder)) is not None
    ]
    return min(quotas, default=None)


def _quota(folder: Path) -> float | None:
    """Return a group's quota in CPUs: `cpu.max` of version 2, two files of version 1."""
    quota, _, period = read_text(folder / "cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:
        return int(quota) / int(period)
    allowed = read_number(folder / "cpu.cfs_quota_us")
    length = read_number(folder / "cpu.cfs_period_us")
    return allowed / length if allowed and length and allowed > 0 and length > 0 else None
