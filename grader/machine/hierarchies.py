"""The hierarchies of control groups: where they are mounted, and where in them this process is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from grader.machine.files import Files, read_text

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
