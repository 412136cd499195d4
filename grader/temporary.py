"""Folders for temporary files, which the next command removes if their maker was killed.

Each has a file in it that its maker keeps locked. The kernel gives the lock back at the maker's
end, in whatever way: so a folder whose lock can be had is left over. Numbers of processes would
tell less, as they are given anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PREFIX = "grader-"
_LOCK = ".lock"
_DRAFT = ".lock.new"


class OwnFolder:
    """A new folder that nobody else may enter, locked until it is removed."""

    def __init__(self, prefix: str = PREFIX, place: str | None = None) -> None:
        """Make it in the folder `place`, that for temporary files if none is given."""
        self.path = Path(place or tempfile.gettempdir()) / f"{prefix}{secrets.token_urlsafe(6)}"
        self._lock = -1
        try:
            self._make()
        except FileExistsError:  # it is somebody else's
            raise
        except BaseException:  # Ctrl-C too: without a lock in it nobody else would remove it
            self._unmake()
            raise

    def _make(self) -> None:
        self.path.mkdir(mode=0o700)
        draft = self.path / _DRAFT
        self._lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        draft.rename(self.path / _LOCK)  # only now may anybody try the lock

    def _unmake(self) -> None:
        with contextlib.suppress(OSError):
            for name in (_DRAFT, _LOCK):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()
        self._give_back()

    def remove(self) -> None:
        """Remove it with all that is in it, if it is there; it may be asked twice."""
        remove_tree(self.path)
        self._give_back()

    def _give_back(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_tree(folder: Path) -> None:
    """Remove a folder, however deep and whatever its modes; what cannot be removed stays."""
    if not os.path.lexists(folder):
        return
    for words in (("chmod", "-R", "u+rwx"), ("rm", "-rf")):  # they know no depth too deep
        subprocess.run(  # noqa: S603
            [*words, "--", folder],
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            start_new_session=True,  # a second Ctrl-C is for all of the terminal's: it ended `rm`
        )


def sweep(places: Iterable[str] | None = None) -> None:
    """Remove what commands of this user left that were killed: their folders are not locked."""
    for place in {tempfile.gettempdir(), "/tmp"} if places is None else places:  # noqa: S108
        for folder in _own_folders(place):
            lock = _try_lock(folder / _LOCK)
            if lock is not None:
                remove_tree(folder)
                os.close(lock)


def _own_folders(place: str) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(place) as found:
        for each in found:
            is_ours = each.name.startswith(PREFIX) and each.is_dir(follow_symlinks=False)
            if is_ours and each.stat(follow_symlinks=False).st_uid == os.geteuid():
                yield Path(each.path)


def _try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock, None where somebody has it or there is none."""
    with contextlib.suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return lock
    return None
