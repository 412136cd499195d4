"""Files that commands read or write, whole or as they were; folders that are there for a while.

A plain file is written beside its place and renamed into it. A device, a pipe and a standard stream
are written to: a file in the place of /dev/stdout would be a machine without one.

A temporary folder has a file in it that its maker keeps locked. The kernel gives the lock back at
the maker's end, in whatever way: so a folder whose lock can be had is left over. Numbers of
processes would tell less, as they are given anew.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from grader.errors import MachineError, UsageError
from grader.language import Text, say

ROOM = 4 * 2**20
"""Bytes that a place must have room for: most reports are smaller."""

REPORT = say("report")

_STANDARD = (1, 2)
_NO_PROBE = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


def indented_json(value: object, spell: Callable[[Any], Any] | None = None) -> bytes:
    """Return a value as a file of JSON; `spell` gives what msgspec cannot tell."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=spell), indent=2) + b"\n"


def read_capped(path: Path, most: int, larger: Text, hint: Text) -> bytes:
    """Read a named file of at most `most` bytes; `larger` is said of others. Raises UsageError."""
    content = read_named(path, most + 1)
    if len(content) > most:
        raise UsageError(larger, hint)
    return content


def read_named(path: Path, most: int = -1) -> bytes:
    """Read a file that a person named, or the first bytes of it. Raises UsageError."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise unreadable(str(path), error) from None


def unreadable(name: str, error: OSError) -> UsageError:
    """Return what is said of something that cannot be read."""
    is_closed = isinstance(error, PermissionError)
    return UsageError(
        say("cannot-read", path=name, reason=error.strerror or type(error).__name__),
        say("check-permissions") if is_closed else say("check-name-and-folder"),
    )


def read_existing(path: Path, most: int) -> bytes:
    """Read the first bytes of a file. Raises UsageError, also where there is none."""
    try:
        if not path.is_file():
            raise UsageError(say("there-no-file", path=str(path)), say("check-name-and-folder"))
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise unreadable(str(path), error) from None


def try_place(path: Path | None, what: Text = REPORT) -> None:
    """Refuse at once what could not be written after minutes of work. Raises UsageError."""
    if path is None:
        return
    with writing(path, what):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if _is_stream(path):
            _try_stream(path)
        else:
            with _draft(_target(path)) as (descriptor, _):
                _reserve(descriptor)


def write_whole(
    path: Path, content: bytes, draft: Path | None = None, mode: int | None = None
) -> None:
    """Write a file so that it is whole or as it was, or write to a device or pipe.

    `draft` is where it is written first, another name in its folder if not given. Nothing is left
    there. `mode` are its permissions; without them they are those of the file that is replaced: who
    closed an earlier report to others did not open this one. Raises OSError.
    """
    if _is_stream(path):
        _write_stream(path, content)
        return
    target = _target(path)
    with _draft(target, draft) as (descriptor, place):
        _permit_as(target, descriptor, mode)
        _write_all(descriptor, content)
        os.fsync(descriptor)  # some file systems say only now that there is no room
        place.replace(target)


def write_or_rescue(path: Path, content: bytes, what: Text = REPORT) -> None:
    """Write as `write_whole` does, or elsewhere; then UsageError says where that is."""
    try:
        write_whole(path, content)
    except OSError as error:
        refusal = unwritable(path, error, what)
        raise UsageError(refusal.message, rescue(content, path.suffix)) from None


def rescue(content: bytes, suffix: str) -> Text:
    """Keep a document that could not be written where it should; return a sentence with the place.

    That is the folder for temporary files, and where that cannot be written either the standard
    error.
    """
    place = ""
    try:
        descriptor, place = tempfile.mkstemp(prefix="grader-report-", suffix=suffix)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError:
        if place:
            Path(place).unlink()
        print(content.decode(errors="replace"), file=sys.stderr, flush=True)
        return say("printed-above-instead-so-that-nothing-lost")
    return say("kept-in-instead", place=place)


@contextmanager
def writing(path: Path, what: Text = REPORT) -> Iterator[None]:
    """Say of an OSError in the body that `path` cannot be written to. Raises UsageError."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error, what) from None


def unwritable(path: Path, error: OSError, what: Text) -> UsageError:
    """Return what is said of a place that cannot be written to."""
    hint = say("name-another-place-in-folder-that-exists")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = say("free-some-space-there-or-name-another")
    reason = error.strerror or type(error).__name__
    if error.errno == errno.EEXIST:  # it should be a folder
        reason = os.strerror(errno.ENOTDIR)
    return UsageError(
        say("cannot-write-what-path-reason", what=what, path=str(path), reason=str(reason)), hint
    )


def _is_stream(path: Path) -> bool:
    """Say whether something is written to, and not replaced."""
    try:
        found = path.stat()
    except OSError:
        return False
    return not stat.S_ISREG(found.st_mode) or _standard(found) is not None


def _standard(found: os.stat_result) -> int | None:
    """Return the standard stream that leads to the same file, as /dev/stdout does."""
    for descriptor in _STANDARD:
        with contextlib.suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
    return None


def _try_stream(path: Path) -> None:
    found = path.stat()
    if _standard(found) is None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if stat.S_ISSOCK(found.st_mode) and _standard(found) is None:
        raise OSError(errno.ENXIO, "it is a socket")


def _write_stream(path: Path, content: bytes) -> None:
    standard = _standard(path.stat())
    if standard is not None:
        (sys.stdout if standard == 1 else sys.stderr).flush()
        _write_all(standard, content)
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _write_all(descriptor, content)
    finally:
        os.close(descriptor)


def _target(path: Path) -> Path:
    """Return what a path leads to: one's own link stays, and what it leads to is replaced."""
    return Path(os.path.realpath(path))


@contextmanager
def _draft(target: Path, draft: Path | None = None) -> Iterator[tuple[int, Path]]:
    """Open a new file beside another, and remove it unless it was renamed meanwhile."""
    place = draft or target.with_name(f".grader-{secrets.token_hex(8)}.part")
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor, place
    finally:
        os.close(descriptor)
        place.unlink(missing_ok=True)


def _permit_as(target: Path, descriptor: int, mode: int | None) -> None:
    """Give a file a mode, or the owner and the mode of the one whose place it will take."""
    if mode is None:
        try:
            found = target.stat()
        except FileNotFoundError:
            return
        mode = stat.S_IMODE(found.st_mode)
        if os.geteuid() == 0:
            os.fchown(descriptor, found.st_uid, found.st_gid)
    os.fchmod(descriptor, mode)


def _reserve(descriptor: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, ROOM)
    except OSError as error:
        if error.errno not in _NO_PROBE:
            raise


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


PREFIX = "grader-"
_LOCK = ".lock"
_DRAFT = ".lock.new"


def temporary_folder() -> str:
    """Return the folder for temporary files. Raises MachineError where none can be written to."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        raise MachineError(
            say("no-folder-for-temporary-files-writable"),
            say("free-space-in-folder-for-temporary-files"),
        ) from None


class OwnFolder:
    """A new folder that nobody else may enter, locked until it is removed.

    It is removed with whoever has it, too: an interruption may come between its making and the
    `try` after it.
    """

    def __init__(self, prefix: str = PREFIX, place: str | None = None) -> None:
        """Make it in the folder `place`, that for temporary files if none is given."""
        self.path = Path(place or temporary_folder()) / f"{prefix}{secrets.token_urlsafe(6)}"
        self._lock: list[int] = []
        self._end = weakref.finalize(self, _remove_own, self.path, self._lock, os.getpid())
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:  # it is somebody else's
            self._end.detach()
            raise
        try:
            self._lock_it()
        except BaseException:  # nobody else would remove it without a lock
            self._unmake()
            raise

    def _lock_it(self) -> None:
        draft = self.path / _DRAFT
        self._lock.append(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        fcntl.flock(self._lock[0], fcntl.LOCK_EX)
        draft.rename(self.path / _LOCK)  # only now may anybody try the lock

    def _unmake(self) -> None:
        """Remove it without a program, which cannot be started where no more files can be open."""
        with contextlib.suppress(OSError):
            for name in (_DRAFT, _LOCK):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()
        _unlock(self._lock)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_error: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove it with all that is in it, if it is there; it may be asked twice."""
        _remove_own(self.path, self._lock, os.getpid())


def _remove_own(path: Path, lock: list[int], process: int) -> None:
    if os.getpid() != process:  # a process that was forked has none of its own
        return
    remove_tree(path)
    _unlock(lock)


def _unlock(lock: list[int]) -> None:
    while lock:
        os.close(lock.pop())


def remove_tree(folder: Path) -> None:
    """Remove a folder, however deep and whatever its modes; what cannot be removed stays."""
    if not os.path.lexists(folder):
        return
    for words in (("chmod", "-R", "u+rwx"), ("rm", "-rf")):  # they know no depth too deep
        with _uninterrupted():
            subprocess.run(  # noqa: S603
                [*words, "--", folder],
                env={"PATH": "/usr/bin:/bin"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                start_new_session=True,
            )


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back from this thread and from the programs that it starts.

    A second Ctrl-C is for all of the terminal's group, and ended `rm`. A separate session is not
    enough: what comes between the fork and the new session ends it when its program is loaded.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def sweep(places: Iterable[str] | None = None) -> None:
    """Remove what commands of this user left that were killed: their folders are not locked."""
    for place in {temporary_folder(), "/tmp"} if places is None else places:  # noqa: S108
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
