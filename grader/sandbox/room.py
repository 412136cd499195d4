"""Programs beside one another: whether there is room, who had to go, ending them all.

A limit on memory is far above what most submissions use. To reserve it for each would have a small
machine grade one after the other, for nothing. So a program is reckoned with its limit until
programs like it have shown what they use, and then with twice the median of that. Who takes more
than was reckoned may still take it, as long as the machine has it: the wardens watch that, and end
the largest first (`grader.inside.launcher.memory`).

Where only one submission is run, a sandbox that held much when the machine had little left has
itself to blame, and one that was too slow has, too. Beside others it may have been within its
limits all the time, and somebody else the one that took the rest. Then it has to be run again,
alone, before anything is said of it.
"""

import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median_high

from grader.errors import DisplacedError, SandboxError
from grader.inside.launcher.memory import memory_left
from grader.inside.launcher.protocol import Cause, Program
from grader.language import Text, say
from grader.sandbox.groups import bounding_folders
from grader.sandbox.interface import Command, Level, Process, Sandbox

_SHARE = 0.9
"""Of what the machine has left when the first program is started; the grader needs some itself."""

_TIMES = 2
_LEAST = 512 * 2**20
_REMEMBERED = 101


def _left_here() -> int:
    return memory_left(tuple(map(str, bounding_folders())))


class Stay:
    """One program's time in a room. `peak`, in bytes, is to be set to what it has held at most."""

    def __init__(self) -> None:
        self.peak = 0


class Room:
    """The memory that programs share, in bytes. `left` says how much there is before the first.

    Who came first gets in first. Whoever needs more than there is gets in when nobody else is.
    """

    def __init__(self, left: Callable[[], int] = _left_here) -> None:
        self._left = left
        self._capacity: int | None = None
        self._taken = 0
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()
        self._peaks: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    @property
    def capacity(self) -> int:
        """Bytes that all programs together may be reckoned with."""
        with self._changed:
            return self._known_capacity()

    def reckoned(self, kind: str, limit: int) -> int:
        """Return how many bytes a program of a kind is taken to use, of the `limit` it may."""
        with self._changed:
            peaks = self._peaks[kind]
            return min(max(_TIMES * median_high(peaks), _LEAST), limit) if peaks else limit

    @contextmanager
    def taken(self, kind: str, limit: int) -> Iterator[Stay]:
        """Wait until there is room for a program of a kind, and have it in the body.

        Not to be nested: two who wait for each other's room would wait for ever.
        """
        need = self._wait(kind, limit)
        stay = Stay()
        try:
            yield stay
        finally:
            with self._changed:
                self._taken -= need
                if stay.peak:
                    self._peaks[kind].append(stay.peak)
                self._changed.notify_all()

    def _wait(self, kind: str, limit: int) -> int:
        ticket = object()
        with self._changed:
            capacity = self._known_capacity()
            self._queue.append(ticket)
            try:
                while True:
                    need = min(self.reckoned(kind, limit), capacity)
                    if self._queue[0] is ticket and self._taken + need <= capacity:
                        self._taken += need
                        return need
                    self._changed.wait()
            finally:  # also when the wait was interrupted: those behind must not wait for it
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _known_capacity(self) -> int:
        if self._capacity is None:
            self._capacity = int(_SHARE * self._left())
        return self._capacity


def refuse_displaced(process: Process) -> None:
    """Raise DisplacedError if a process, which has ended, was ended for what others took."""
    if process.cause == "outside":
        raise DisplacedError(
            say("machine-ran-out-memory-or-processors-during"),
            say("grade-again-when-machine-less-busy"),
        )


class _SandboxOver:
    """Is as the sandbox below it; a subclass says how commands are started."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @property
    def level(self) -> Level:
        """As the sandbox says."""
        return self._sandbox.level

    @property
    def detail(self) -> Text:
        """As the sandbox says."""
        return self._sandbox.detail

    def expect(self, *programs: Program) -> None:
        """Do as the sandbox does."""
        self._sandbox.expect(*programs)

    def close(self) -> None:
        """Do as the sandbox does."""
        self._sandbox.close()


class CrowdedSandbox(_SandboxOver):
    """Starts commands in `sandbox`, beside others: what the machine did to them is never theirs."""

    def start(self, command: Command) -> Process:
        """Start a command. Raises SandboxError when the machine refuses."""
        return _CrowdedProcess(self._sandbox.start(command))


_NOT_ITS_OWN: tuple[Cause, ...] = ("machine", "starved")


class _CrowdedProcess:
    """A process that says "outside" where alone it would be its own doing."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def standard_error(self) -> str:
        return self._process.standard_error

    @property
    def cause(self) -> Cause:
        cause = self._process.cause
        return "outside" if cause in _NOT_ITS_OWN else cause

    @property
    def peak(self) -> int:
        return self._process.peak

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int | None:
        return self._process.wait(timeout)

    def kill(self) -> None:
        self._process.kill()


class RevocableSandbox(_SandboxOver):
    """Starts commands in `sandbox` until `revoke` is called.

    Threads that wait for a program cannot be interrupted. They come to an end by themselves when
    the program is gone and no other can be started. `is_revoked` says whether that was done.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self._lock = threading.Lock()
        self._started: weakref.WeakSet[Process] = weakref.WeakSet()
        self.is_revoked = False

    def expect(self, *programs: Program) -> None:
        """Do as the sandbox does, until `revoke` is called."""
        if not self.is_revoked:
            self._sandbox.expect(*programs)

    def start(self, command: Command) -> Process:
        """Start a command. Raises SandboxError when the machine refuses or `revoke` was called."""
        self._check()
        process = self._sandbox.start(command)
        with self._lock:
            self._started.add(process)
        try:
            self._check()  # `revoke` may have come while it was being started
        except SandboxError:
            process.kill()
            raise
        return process

    def revoke(self) -> None:
        """End everything that was started, and start nothing any more.

        Raises SandboxError when something does not end; the others have been ended then.
        """
        with self._lock:
            self.is_revoked = True
            running = list(self._started)
        with ExitStack() as endings:
            for process in running:
                endings.callback(process.kill)

    def _check(self) -> None:
        with self._lock:
            if self.is_revoked:
                raise SandboxError(say("work-interrupted"), say("start-again"))
