"""The grader's end of the reading process: starts it, sends it files, and ends what takes long."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import msgspec

import grader
from grader.errors import GraderError
from grader.language import later
from grader.messages import FrameError, decode_payload
from grader.quiet import Quiet
from grader.reading.content import SIZE_LIMIT
from grader.reading.messages import (
    ANSWER_LIMIT,
    Bounds,
    Broken,
    FromReader,
    Overwhelmed,
    Read,
    Request,
    Sentence,
    Unreadable,
)
from grader.submission import SubmissionFile, as_notebook, open_submission

PATIENCE_SECONDS = 60.0
"""Longest time that a file is waited for, however little of a processor it gets. Time in which it
was stopped for others to measure does not count."""

START_SECONDS = 60.0
"""Longest time in which the process may import what it needs."""

_LOOK_SECONDS = 0.25
_SUFFIX = 100
_START = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from grader.reading.worker import main; main(sys.argv[1:])"
)


class ReadingError(Exception):
    """Raised for a fault of the reading process itself, with its traceback."""


class Reader:
    """Reads files that were handed in, each in a process of its own. May be used by any thread.

    The process that they are forked from is started at once and ends with `close`. It is stopped
    while somebody measures in the `quiet` of these gradings, and nobody waits for it.
    """

    def __init__(
        self,
        quiet: Quiet | None = None,
        bounds: Bounds | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._quiet = Quiet() if quiet is None else quiet
        self._patience = patience
        self._bounds = Bounds() if bounds is None else bounds
        # Messages of this kind of socket arrive whole, so no reader ever has to join them.
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        source = str(Path(grader.__file__).resolve().parents[1])
        with theirs:
            self._popen = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-c", _START, str(theirs.fileno()), source],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={"LANG": "C.UTF-8"},
                cwd="/",
                start_new_session=True,
            )
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _end, self._requests, self._popen)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process id of the process that readers are forked from."""
        return self._popen.pid

    def close(self) -> None:
        """End the process, and all that read."""
        with self._lock:
            self._finalizer()

    def read(self, path: Path, trusted: Path | None = None) -> SubmissionFile:
        """Read a file, and find its spelling. A damaged one comes back with its `problem`.

        So does one that takes more than its bounds to read. Raises UsageError for a missing one,
        and for one behind a link below the `trusted` folder, by default the file's own.
        """
        with open_submission(path, trusted) as file:
            answer = self.ask(file.fileno(), path.suffix)
            digest = getattr(answer, "sha256", None) or _digest(file.fileno())
        if isinstance(answer, Read):
            notebook = as_notebook(answer.content)
            notes = tuple(map(_said, answer.content.notes))
            return SubmissionFile(
                path.name, digest, notebook, notes=notes, respelling=answer.respelling
            )
        if isinstance(answer, Unreadable):
            problem, hint = _said(answer.problem), _said(answer.hint)
        else:
            problem, hint = self._overwhelmed()
        return SubmissionFile(path.name, digest, None, problem, hint)

    def ask(self, file: int, suffix: str) -> Read | Unreadable | Overwhelmed:
        """Have the file of a descriptor read. Raises GraderError when nothing can be read."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._send(Request(suffix[:_SUFFIX], self._bounds), file, theirs.fileno())
            answer = self._answer(ours)
        if isinstance(answer, Broken):
            raise ReadingError(answer.traceback)
        return answer

    def _send(self, request: Request, *descriptors: int) -> None:
        payload = msgspec.msgpack.encode(request)
        try:
            with self._lock:
                socket.send_fds(self._requests, [payload], descriptors)
        except OSError:
            raise _not_started() from None

    def _answer(self, channel: socket.socket) -> FromReader:
        """Wait for an answer; one that does not come, or is none, is that of a file too large."""
        descriptors = _Waiting(time.monotonic, START_SECONDS).descriptors(channel)
        if not descriptors:
            raise _not_started()
        work = _Work(descriptors[0])
        waiting = _Waiting(time.monotonic, self._patience)
        try:
            with self._quiet.aside(work):
                payload = waiting.payload(channel, work)
            return decode_payload(payload, FromReader)  # type: ignore[arg-type]
        except FrameError:
            return Overwhelmed()
        finally:
            work.end()

    def _overwhelmed(self) -> tuple[str, str]:
        return (
            later(
                "The file is too large or too complicated to be read: that takes more than"
                " {seconds} seconds or {memory} MB of memory.",
                seconds=self._bounds.seconds,
                memory=self._bounds.memory // 2**20,
            ),
            later(
                "Clear the outputs of all cells, take out what is not part of your solution, and"
                " hand it in again."
            ),
        )


def _not_started() -> GraderError:
    return GraderError(
        "Nothing can be read: the process that reads files has ended.",
        "Try again; if it happens again, run `grader doctor`: the packages may not fit together.",
    )


class _Work:
    """A process that reads, by its pidfd."""

    def __init__(self, pidfd: int) -> None:
        self._pidfd = pidfd
        self.is_paused = False

    def pause(self) -> None:
        """Stop it."""
        self.is_paused = True
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self.is_paused = False
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._signal(signal.SIGKILL)
        os.close(self._pidfd)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(self._pidfd, number)


class _Waiting:
    """Receives within a time, in which stops do not count."""

    def __init__(self, clock: Callable[[], float], patience: float) -> None:
        self._clock = clock
        self._left = patience

    def descriptors(self, channel: socket.socket) -> list[int]:
        """Return what comes before the answer: the process's pidfd. Empty where it has ended."""
        if not self._wait(channel, None):
            return []
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        return descriptors

    def payload(self, channel: socket.socket, work: _Work) -> bytes:
        """Return all that is sent. Raises FrameError where that is too much, or takes too long."""
        received = bytearray()
        while self._wait(channel, work):
            chunk = channel.recv(2**20)
            if not chunk:
                return bytes(received)
            received += chunk
            if len(received) > ANSWER_LIMIT:
                raise FrameError("the answer is too long")
        raise FrameError("there was no answer in time")

    def _wait(self, channel: socket.socket, work: _Work | None) -> bool:
        poller = select.poll()
        poller.register(channel, select.POLLIN)
        while self._left > 0:
            begin = self._clock()
            if poller.poll(_LOOK_SECONDS * 1000):
                return True
            if work is None or not work.is_paused:
                self._left -= self._clock() - begin
        return False


def _said(sentence: Sentence) -> str:
    return later(sentence.text, **sentence.values)


def _digest(file: int) -> str:
    """Return the digest of a file whose reader could not tell it."""
    digest, place = hashlib.sha256(), 0
    while place <= SIZE_LIMIT and (chunk := os.pread(file, 2**20, place)):
        digest.update(chunk)
        place += len(chunk)
    return digest.hexdigest()


def _end(requests: socket.socket, popen: subprocess.Popen[bytes]) -> None:
    requests.close()
    popen.kill()  # it has nothing to lose, and its children end with it
    popen.wait()
