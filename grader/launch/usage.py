"""What a sandbox uses: its processes, their memory, its files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

_BLOCK = 512
"""The unit of `st_blocks` in bytes, whatever the file system."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


def all_processes() -> list[int]:
    """Return the processes of the process namespace that /proc shows."""
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def descendants(root: int) -> list[int]:
    """Return the living processes below `root`, children before grandchildren, without zombies."""
    parents: dict[int, list[int]] = {}
    for number in all_processes():
        parent = _living_parent(number)
        if parent is not None:
            parents.setdefault(parent, []).append(number)
    found = list(parents.get(root, ()))
    for number in found:
        found.extend(parents.get(number, ()))
    return found


def memory_of(processes: Iterable[int], enough: int) -> int:
    """Return bytes of memory in use by processes together.

    Shared pages are counted in full as long as the sum stays below `enough`; only a sum above it
    is made again with each page divided by the number of its users, which takes milliseconds.
    """
    known = list(processes)
    resident = sum(_resident(number) for number in known)
    return resident if resident <= enough else sum(_proportional(number) for number in known)


def files_on(folder: str) -> int:
    """Return how many files the file system of a folder holds."""
    state = os.statvfs(folder)
    return state.f_files - state.f_ffree


def contents_of(folders: Iterable[str], most_files: int, most_bytes: int) -> tuple[int, int]:
    """Count files and bytes below folders, giving up once a count is passed."""
    files = size = 0
    pending = list(folders)
    while pending and files <= most_files and size <= most_bytes:
        for entry in _entries(pending.pop()):
            files += 1
            size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return files, size


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield what is in a folder, as far as it stays there meanwhile; a closed one is opened."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        try:
            entries = os.scandir(folder)
        except PermissionError:
            _open_up(folder)
            entries = os.scandir(folder)
        with entries:
            yield from entries


def _open_up(folder: str) -> None:
    """Let the owner of a folder, this process, read it again; a link is not followed."""
    number = os.open(folder, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        os.chmod(f"/proc/self/fd/{number}", 0o700)  # noqa: PTH101 - there is no path to it
    finally:
        os.close(number)


def _living_parent(number: int) -> int | None:
    fields = _read(f"/proc/{number}/stat").rpartition(b") ")[2].split()
    if len(fields) < 2 or fields[0] in (b"Z", b"X"):
        return None
    return int(fields[1])


def _resident(number: int) -> int:
    fields = _read(f"/proc/{number}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _proportional(number: int) -> int:
    for line in _read(f"/proc/{number}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: str) -> bytes:
    """Return the text of a file in /proc; empty when its process has ended meanwhile."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - read a hundred times a second
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return b""
