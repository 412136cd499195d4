"""What a command does to its own process: its streams, its signals, the modes of its files."""

import atexit
import contextlib
import faulthandler
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import TextIO, cast

from grader.errors import GraderError
from grader.inside.launcher import linux
from grader.language import one_of_ours, say

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals after which a command clears up and ends. Others end it at once."""


class OutputError(GraderError):
    """Raised when the standard output cannot be written to, as on a full disk."""


_AGAIN_SECONDS = 0.05

_IMPORTS_FOR = 5.0
"""Seconds that an interruption waits at most for an import to end."""

_HEEDED_WITHIN = 30.0
"""Seconds in which what is interrupted has cleared up: mostly that takes less than two."""


_MAKES_A_LOOP = "new_event_loop"
_BEGINS_AND_ENDS_A_LOOP = "asyncio/runners.py"
_RUNS_A_LOOP = "_run_once"


class _Interrupt(KeyboardInterrupt):
    """Says when it is gone: because it arrived, or because somebody swallowed it."""

    def __init__(self, gone: Callable[[], None]) -> None:
        super().__init__()
        self._gone = gone

    def __del__(self) -> None:
        self._gone()


def _must_go_on(frame: FrameType | None) -> bool:
    """Say whether this innermost frame imports, or begins or ends a loop of asyncio."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename == "<frozen importlib._bootstrap>" or code.co_name == _MAKES_A_LOOP:
            return True
        if code.co_name == _RUNS_A_LOOP:
            return False
        if code.co_filename.endswith(_BEGINS_AND_ENDS_A_LOOP):
            return True
        frame = frame.f_back
    return False


class Interruption:
    """Ends the work at the first signal, by KeyboardInterrupt, and heeds no other meanwhile.

    Whoever presses Ctrl-C twice would interrupt the clearing up: processes and folders would stay.
    `number` is the signal that came, 0 before.

    An exception can be lost on its way: one in a callback of the collector is only printed. So one
    that is gone before the work is over (`end`) is raised again. One that somebody has caught and
    keeps is never gone: where the work is not over within `heeded_within` seconds, another comes.

    None comes amid an import: PyTorch's library clears all errors of what it imports, so that a
    command went on for two minutes, or ends the process by them. Nor while asyncio makes a loop or
    takes it apart: one that is half made fails then, and a traceback is printed; of a coroutine
    that is not yet a task of the loop a warning says that nobody has awaited it.
    """

    number = 0

    def __init__(self, heeded_within: float = _HEEDED_WITHIN) -> None:
        self._heeded_within = heeded_within
        self._came = 0.0
        self._is_over = False
        for each in INTERRUPTIONS:
            if signal.getsignal(each) != signal.SIG_IGN:  # nohup, and shells for what they hide
                signal.signal(each, self._interrupt)
        signal.signal(signal.SIGALRM, self._interrupt_again)

    def end(self) -> None:
        """Say that the work is over: what came before is not raised again.

        The alarm is put off. Python gives it back to the system before the process is gone, which
        would be ended by it, with another exit code.
        """
        self._is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)

    def ignore(self) -> None:
        """Heed no signal any more: nothing is left to be done but to take the process apart.

        Python calls this when all threads have ended, after everything else that is to be done at
        the end. It then gives its handlers back to the system before the process is gone: a second
        Ctrl-C that came in between ended it, with the code of a process that was killed.
        """
        for each in INTERRUPTIONS:
            signal.signal(each, signal.SIG_IGN)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self.number:
            self.number, self._came = number, time.monotonic()
            self._raise(frame)

    def _interrupt_again(self, _number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if not self._is_over:
            self._raise(frame)

    def _raise(self, frame: FrameType | None) -> None:
        if not _must_go_on(frame) or time.monotonic() > self._came + _IMPORTS_FOR:
            signal.setitimer(signal.ITIMER_REAL, self._heeded_within)
            raise _Interrupt(self._repeat)
        self._repeat()

    def _repeat(self) -> None:
        if not self._is_over:  # by a signal: what is raised where an object ends would be lost, too
            # More than once: Python heeds one that comes just before a wait when the wait is over.
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)


class _Output(io.TextIOWrapper):
    """The standard output. Who closes it, as `head` does, has read enough: the rest goes nowhere.

    Where it cannot be written for another reason, OutputError says so, once.
    """

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self.fail(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self.fail(error)

    def fail(self, error: OSError) -> None:
        _send_nowhere(self)
        if not isinstance(error, BrokenPipeError):
            raise OutputError(
                say("cannot-write-standard-output", strerror=str(error.strerror)),
                say("free-some-space-or-write-elsewhere"),
            ) from None


class _Messages(_Output):
    """The standard error: nothing ends because it cannot be written."""

    def fail(self, error: OSError) -> None:
        del error
        _send_nowhere(self)


def command_language(
    arguments: Sequence[str] | None = None, environment: Mapping[str, str] = os.environ
) -> str:
    """Return the code of the language in which a command speaks, by its arguments.

    That is what `--lang` names, or the variable GRADER_LANG; English where neither names one of
    ours. It is read before the arguments are: what is wrong with these is told in it, too.
    """
    given = sys.argv[1:] if arguments is None else arguments
    named = [
        value.partition("=")[2] if value.startswith("--lang=") else given[at + 1]
        for at, value in enumerate(given)
        if value.startswith("--lang=") or (value == "--lang" and at + 1 < len(given))
    ]
    return one_of_ours(named[-1] if named else environment.get("GRADER_LANG"))


def prepare_process() -> Interruption:
    """Make this process one that ends cleanly, whatever its streams and whoever interrupts it."""
    _open_standard_streams()
    if sys.platform.startswith("linux"):
        # Where sandboxes are weak, submissions are processes of the same user.
        linux.close_own_proc()
        linux.give_memory_back()
    os.umask(os.umask(0o077) & 0o077)  # what we make we have to read ourselves, with umask 777 too
    sys.stdout = _replaced(sys.stdout, 1, _Output)
    sys.stderr = _replaced(sys.stderr, 2, _Messages)
    faulthandler.enable(file=2)  # a library's crash, which nothing can catch, says where it was
    interruption = Interruption()
    atexit.register(interruption.ignore)  # the first to be registered is the last to be called
    return interruption


def _open_standard_streams() -> None:
    """Open those that are closed: the next file to be opened would become one of them."""
    descriptor = os.open(os.devnull, os.O_RDWR)  # the lowest that is free
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def write_output(content: bytes) -> None:
    """Write bytes to the standard output. Raises OutputError."""
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError as error:
        if not isinstance(sys.stdout, _Output):
            raise
        sys.stdout.fail(error)


def discard_output() -> None:
    """Send what waits to be written to the standard output nowhere.

    Whoever interrupts a command whose output nobody reads would wait for its reader else: no second
    signal is heeded.
    """
    _send_nowhere(cast("io.TextIOWrapper", sys.stdout))


def _replaced(stream: TextIO | None, number: int, kind: type[_Output]) -> _Output:
    if stream is None:
        return kind(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), write_through=True)
    encoding, errors, lines = stream.encoding, stream.errors, number == 2 or os.isatty(number)
    stream.flush()
    return kind(cast("io.TextIOWrapper", stream).detach(), encoding, errors, line_buffering=lines)


def _send_nowhere(stream: io.TextIOWrapper) -> None:
    """Send what is written from now on nowhere, and what waits to be written as well."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    with contextlib.suppress(OSError):
        io.TextIOWrapper.flush(stream)
