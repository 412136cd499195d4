"""Confinement by Landlock: files by path, network, and signals to processes outside.

What a kernel does not know of is left out: version 1 knows files, 4 TCP, 6 signals and abstract
sockets (linux/landlock.h). The seccomp filter of the same sandbox denies sockets altogether.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from grader.inside.launcher import linux

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP = 0b11
_SCOPES = 0b11
_FILE_ACCESS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE

READ = _EXECUTE | _READ_FILE | _READ_DIR

READABLE_FILES = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/filesystems",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/dev/urandom",
    "/dev/zero",
    "/etc/debian_version",
    "/etc/os-release",
    "/etc/wgetrc",
)
"""What libraries read about the machine. Nothing in there tells of another process."""

WRITABLE_DEVICES = ("/dev/null", "/dev/full")
"""Not /dev/zero: mapped by who may write it, it is memory that is in no process's numbers."""


def confine(readable: Iterable[str], listed: Iterable[str], writable: Iterable[str]) -> None:
    """Leave this process nothing but these files and folders, its own /proc entry, and no network.

    What is below the folders `listed` can be listed, and not read.
    Raises OSError where the kernel has no Landlock. Paths that do not exist are passed over.
    """
    version = linux.landlock_version()
    handled = _ALL_OF_VERSION[max(known for known in _ALL_OF_VERSION if known <= max(version, 1))]
    ruleset = linux.landlock_ruleset(handled, _TCP, _SCOPES, version)
    try:
        for path in (*readable, *READABLE_FILES, f"/proc/{os.getpid()}"):
            _allow(ruleset, path, READ & handled)
        for path in listed:
            _allow(ruleset, path, _READ_DIR)
        for path in (*writable, *WRITABLE_DEVICES):
            _allow(ruleset, path, handled)
        linux.landlock_restrict(ruleset)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):  # noqa: PTH112 - folders only have the other rights
                access &= _FILE_ACCESS
            linux.landlock_allow(ruleset, descriptor, access)
        finally:
            os.close(descriptor)
