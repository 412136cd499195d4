"""How many CPUs' worth of time the control groups leave to this process.

A group that has used up its quota is stopped until its next period begins, for tens of
milliseconds. A timed block that meets such a pause says nothing about the function in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from grader.machine.files import Files, read_number, read_text

_ESCAPE = re.compile(r"\\(\d{3})")


class Hierarchy(msgspec.Struct, frozen=True):
    """A hierarchy of control groups: where it is mounted, and which group of it lies there."""

    mount: Path
    group: PurePosixPath
    unified: bool


def cpu_quota(files: Files) -> float | None:
    """Return the least quota of this process's groups and all groups above, in CPUs.

    None where there is none, or none that can be seen: what lies above a container's own group is
    hidden inside.
    """
    quotas = [
        quota
        for hierarchy in _hierarchies(files)
        for folder in _folders(hierarchy, _own_group(files, unified=hierarchy.unified))
        if (quota := _quota(folder)) is not None
    ]
    return min(quotas, default=None)


def _hierarchies(files: Files) -> Iterator[Hierarchy]:
    """Yield those that may bound CPU time: lines of /proc/self/mountinfo, see proc(5)."""
    for line in read_text(files.proc / "self/mountinfo").splitlines():
        mounted, separator, file_system = line.partition(" - ")
        fields, kinds = mounted.split(), file_system.split()
        if not separator or len(fields) < 5 or len(kinds) < 3:
            continue
        if kinds[0] == "cgroup2" or (kinds[0] == "cgroup" and "cpu" in kinds[2].split(",")):
            group, mount = PurePosixPath(_unescape(fields[3])), Path(_unescape(fields[4]))
            yield Hierarchy(mount, group, unified=kinds[0] == "cgroup2")


def _own_group(files: Files, *, unified: bool) -> PurePosixPath:
    """Return the group of this process: a line `number:controllers:path` of /proc/self/cgroup."""
    for line in read_text(files.proc / "self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" if unified else "cpu" in controllers.split(","):
            return PurePosixPath(path)
    return PurePosixPath("/")


def _folders(hierarchy: Hierarchy, group: PurePosixPath) -> Iterator[Path]:
    """Yield the folder of a group and those of the groups above, as far as they are mounted."""
    inside = group.is_relative_to(hierarchy.group) and ".." not in group.parts
    below = group.relative_to(hierarchy.group) if inside else PurePosixPath()
    for part in (below, *below.parents):
        yield hierarchy.mount / part


def _quota(folder: Path) -> float | None:
    """Return a group's quota in CPUs: `cpu.max` of version 2, two files of version 1."""
    quota, _, period = read_text(folder / "cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:
        return int(quota) / int(period)
    allowed = read_number(folder / "cpu.cfs_quota_us")
    length = read_number(folder / "cpu.cfs_period_us")
    return allowed / length if allowed and length and allowed > 0 and length > 0 else None


def _unescape(text: str) -> str:
    """Undo what the kernel does to blanks and backslashes in a path."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)
