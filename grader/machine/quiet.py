"""Quiet for measuring: on one machine, and among the threads of one process.

Among processes it is an advisory lock (flock) on one file that all users share. The kernel gives it
back when its holder ends, in whatever way, so nothing stays behind. But anybody may hold it, for as
long as they like, or put something else in the file's place: so nobody waits for ever, and whoever
goes on without it says so. Containers that do not share a folder for temporary files do not see
each other's.

Threads of one process run their notebooks side by side. While one of them times a schedule, none of
the others may use a processor: they wait until it has finished, and it waits until they have.
Nobody waits for work that stands aside: it is stopped where it is, and goes on afterwards.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from pathlib import Path
from typing import Protocol

import msgspec

from grader.errors import GraderError
from grader.language import NOTHING, Text, say

SHARED_PLACE = Path("/tmp/grader-timing.lock")  # noqa: S108 - one place for all users
"""Where the file is. Not in the folder that TMPDIR names, which may differ from user to user."""

PATIENCE_SECONDS = 600.0
"""How long to wait for others. A timed section takes some ten seconds, so dozens of them may come
first; who waits longer meets one that hangs."""

SHORT_PATIENCE_SECONDS = 10.0
"""How long to wait once waiting has been in vain: a holder that hangs delays one submission, not
all of a class."""

_POLL_SECONDS = 0.1
"""A waiting process looks ten times a second: that costs some microseconds each."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PERMISSIONS = 0o444
"""Whoever can read a file can lock it, see flock(2): nobody needs to write into this one."""

HELD_TOO_LONG = say("other-gradings-timing-on-this-machine")
NO_LOCK = say("other-gradings-on-this-machine-could")


class Turn(msgspec.Struct, frozen=True):
    """Whether this process is the only one on the machine that times now, and if not, why."""

    is_alone: bool
    note: Text = NOTHING


class LockError(GraderError):
    """Raised when the shared file cannot be used; the message says what is wrong with it."""


class TimingLock:
    """The turn to time on this machine. Gradings of one process share one, and take it in turns.

    `path` is the file, `patience` how long to wait in seconds, `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        path: Path = SHARED_PLACE,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.patience = patience
        self._clock = clock
        self._hurried = [threading.Event()]
        self._was_in_vain = threading.Event()
        self._joins = False
        self._waits = threading.Lock()
        self._guard = threading.Lock()
        self._held: list[int] = []

    def for_one(self) -> TimingLock:
        """Return the same lock for one grading: to `hurry` it lets that one alone wait no more."""
        one = copy(self)
        one._hurried = [*self._hurried, threading.Event()]
        return one

    def joining(self) -> TimingLock:
        """Return the same lock for whoever has this process alone: the turn of another of its
        gradings, which cannot use it meanwhile, is its own, too. Else both would wait for ever.
        """
        joining = copy(self)
        joining._joins = True
        return joining

    @contextmanager
    def turn(self, on_wait: Callable[[], None] = lambda: None) -> Iterator[Turn]:
        """Wait for the turn, up to the patience, and have it in the body of a with statement.

        `on_wait` is called once if somebody else has it. The body runs in any case; the value says
        whether nobody else times meanwhile.
        """
        with self._turn(lambda: self._acquire(on_wait)) as turn:
            if turn is None:
                turn = Turn(is_alone=False, note=say(HELD_TOO_LONG, seconds=self._seconds()))
                self._was_in_vain.set()
            elif turn.is_alone:
                self._was_in_vain.clear()
            yield turn

    def turn_at_once(self) -> AbstractContextManager[Turn | None]:
        """Have the turn in the body of a with statement if nobody has it or waits for it.

        The value is None if somebody does; otherwise it is as that of `turn`.
        """
        return self._turn(self._acquire_at_once)

    @contextmanager
    def _turn(self, acquire: Callable[[], int | None]) -> Iterator[Turn | None]:
        try:
            descriptor = acquire()
        except LockError as error:
            yield Turn(is_alone=False, note=say(NO_LOCK, reason=error.message))
            return
        if descriptor is None:
            yield None
            return
        self._held.append(descriptor)
        try:
            yield Turn(is_alone=True)
        finally:
            with self._guard:
                self._held.remove(descriptor)
                os.close(descriptor)

    def hurry(self) -> None:
        """Let nobody wait any more, now or later: the work was interrupted."""
        self._hurried[-1].set()

    def is_taken(self) -> bool:
        """Say whether somebody times now. Raises LockError."""
        try:
            descriptor = _open_existing(self.path)
        except FileNotFoundError:
            return False
        is_free = _try_lock(descriptor, fcntl.LOCK_SH)
        os.close(descriptor)
        return not is_free

    def _acquire(self, on_wait: Callable[[], None]) -> int | None:
        """Return a descriptor that holds the lock, None when patience is over. Raises LockError.

        Of the gradings of a process one waits for other processes, and the others for that one:
        nobody's patience is used up by its own. Whoever waits for the lock holds the queue
        meanwhile. So one command whose gradings follow each other closely has to let another one
        in between.
        """
        tell = _once(on_wait)
        with ExitStack() as waiting:
            if not self._joins:
                while not self._waits.acquire(timeout=_POLL_SECONDS):
                    tell()
                    if self._is_hurried():
                        return None
                waiting.callback(self._waits.release)
            end = self._clock() + self._seconds()
            queue = self._take(self._queue, end, tell)
            if queue is None:
                return None
            waiting.callback(os.close, queue)
            return self._take(self.path, end, tell)

    def _acquire_at_once(self) -> int | None:
        """As `_acquire` does, but None where others have it or wait for it."""
        queue = self._try(self._queue)
        if queue is None:
            return None
        try:
            return self._try(self.path)
        finally:
            os.close(queue)

    @property
    def _queue(self) -> Path:
        return self.path.with_name(self.path.name + ".queue")

    def _take(self, path: Path, end: float, on_wait: Callable[[], None]) -> int | None:
        """Return a descriptor that holds the lock of a file, None at the `end` of patience."""
        while (descriptor := self._try(path)) is None:
            on_wait()
            if self._clock() >= end or self._is_hurried(_POLL_SECONDS):
                return None
        return descriptor

    def _try(self, path: Path) -> int | None:
        """Return a descriptor that holds the lock of a file, None where somebody else has it."""
        with self._guard:
            if self._joins and self._held:
                return os.dup(self._held[-1])  # the lock is held as long as one of both is open
        descriptor = _open(path)
        if _try_lock(descriptor):
            return descriptor
        os.close(descriptor)
        return None

    def _is_hurried(self, seconds: float = 0.0) -> bool:
        """Say whether nobody may wait any more; wait so long for that."""
        return any(each.is_set() for each in self._hurried) or self._hurried[-1].wait(seconds)

    def _seconds(self) -> float:
        return min(
            self.patience, SHORT_PATIENCE_SECONDS if self._was_in_vain.is_set() else math.inf
        )


def _once(call: Callable[[], None]) -> Callable[[], None]:
    """Return what calls `call` when it is called first."""
    calls = iter([call])
    return lambda: next(calls, lambda: None)()


def _open(path: Path) -> int:
    """Open the shared file, making it if need be. Raises LockError.

    It is made in a second step: some systems refuse O_CREAT for a file of somebody else that exists
    in a folder like /tmp (fs.protected_regular), even to root.
    """
    for _ in range(3):  # somebody may make or remove it between the two steps
        try:
            return _open_existing(path)
        except FileNotFoundError:
            pass
        try:
            descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, _PERMISSIONS)
        except FileExistsError:
            continue
        except OSError as error:
            raise LockError(
                say("cannot-made", path=str(path), reason=str(error.strerror))
            ) from None
        os.fchmod(descriptor, _PERMISSIONS)  # whatever the umask: others have to open it
        return descriptor
    raise LockError(say("comes-and-goes", path=str(path)))


def _open_existing(path: Path) -> int:
    """Open the shared file if it is a plain file. Raises FileNotFoundError, LockError."""
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = say("it-is-a-link") if error.errno == errno.ELOOP else str(error.strerror)
        raise LockError(say("cannot-opened", path=str(path), reason=reason)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LockError(say("not-plain-file", path=str(path)))
    return descriptor


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Take the lock at once or not at all.

    Raises LockError where the file system has no locks; the descriptor is closed then.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(descriptor)
        raise LockError(say("file-system-has-no-locks", reason=str(error.strerror))) from None
    return True


class Pausable(Protocol):
    """Work in another process, which can be stopped at any moment."""

    def pause(self) -> None:
        """Stop it; harmless where it has ended."""

    def resume(self) -> None:
        """Let it go on; harmless where it has ended."""


class Quiet:
    """A lock that is held shared by those who work, or exclusively by the one who measures.

    Who came first gets it first. So whoever wants it exclusively holds up those who come later and
    waits only for those who came earlier; and nobody waits for ever. It cannot be taken twice by
    the same thread.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._sharing = 0
        self._alone = False
        self._aside: list[Pausable] = []

    @contextmanager
    def aside(self, work: Pausable) -> Iterator[None]:
        """Stop work whenever somebody measures, as long as the body of a with statement runs.

        A file that takes long to read must not keep others from measuring; nor may it disturb them.
        """
        with self._changed:
            self._aside.append(work)
            if self._alone:
                work.pause()
        try:
            yield
        finally:
            with self._changed:
                self._aside.remove(work)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Work beside others in the body of a with statement, and beside nobody who measures."""
        with self._turn(lambda: not self._alone):
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Have the machine alone in the body of a with statement."""
        with self._turn(lambda: not self._alone and self._sharing == 0):
            self._alone = True
            for work in self._aside:
                work.pause()
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                for work in self._aside:
                    work.resume()
                self._changed.notify_all()

    @contextmanager
    def _turn(self, is_free: Callable[[], bool]) -> Iterator[None]:
        """Wait in the queue until it is this thread's turn; the body then takes the lock."""
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                self._changed.wait_for(lambda: self._queue[0] is ticket and is_free())
                yield
            finally:  # also when the wait was interrupted: those behind must not wait for it
                self._queue.remove(ticket)
                self._changed.notify_all()
