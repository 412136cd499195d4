"""The grader's end of the reading process: starts it, sends it files, and ends what takes long."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar, cast

import msgspec

import grader
from grader.decoding import prepared
from grader.errors import GraderError
from grader.inside.launcher import enter
from grader.language import Sentence, Text, foreign, say, template
from grader.machine.quiet import Quiet
from grader.messages.frames import FrameError, decode_payload, read_frame
from grader.reading.cells import MARKDOWN, SCRIPT, SIZE_LIMIT
from grader.reading.messages import (
    ANSWER_LIMIT,
    PID,
    PIECE_FRAME,
    STAYING_SECONDS,
    Began,
    Broken,
    FromReader,
    FromUnpacker,
    Overwhelmed,
    Read,
    ReaderBounds,
    ReadRequest,
    SentText,
    Skipped,
    ToReader,
    Unpacked,
    UnpackLimits,
    UnpackRequest,
    Unreadable,
)
from grader.reading.submission import SubmissionFile, as_notebook, open_submission

PATIENCE_SECONDS = 60.0
"""Longest time that a file is waited for, however little of a processor it gets. Time in which it
was stopped for others to measure does not count."""

START_SECONDS = 60.0
"""Longest time in which the process may import what it needs."""

TEXTS = SCRIPT + MARKDOWN
"""Names that end in one of these are no notebooks', in capitals or not."""

_FEW_MEMBERS = 1000
_FEW_ARCHIVES = 50
_HARMLESS = frozenset({"link", "special", "encrypted", "unsupported"})
_UNREAD = frozenset({"large", "budget"})
"""Left out by what the index says, where nothing was told of them."""

_TOLD = msgspec.msgpack.Decoder(prepared(cast("type[FromUnpacker]", FromUnpacker)))

_Asked = TypeVar("_Asked")

_LOOK_SECONDS = 0.25
_END_SECONDS = 1.0
_SLOW = 4.0
"""An unpacking is waited for so many times its processor time: others use processors, too."""
_START = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from grader.reading.worker import main; main(sys.argv[1:])"
)


class ReadingError(Exception):
    """Raised for a fault of the reading process itself, with its traceback."""


class SubmissionReader:
    """Reads files that were handed in, each in its own process. May be used by any thread.

    The process that they are forked from is started at once and ends with `close`. It is stopped
    while somebody measures in the `quiet` of these gradings, and nobody waits for it.
    """

    def __init__(
        self,
        quiet: Quiet | None = None,
        bounds: ReaderBounds | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._quiet = Quiet() if quiet is None else quiet
        self._patience = patience
        self._bounds = ReaderBounds() if bounds is None else bounds
        self._lock = threading.Lock()
        self._process = _Process()
        self._unpackers: list[_Unpacker] = []
        self._end_unpackers = weakref.finalize(self, _end_all, self._unpackers)

    def __enter__(self) -> SubmissionReader:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process id of the process that readers are forked from."""
        return self._process.pid

    def close(self) -> None:
        """End the process, and all that read."""
        with self._lock:
            self._process.end()
            self._end_unpackers()

    def read(self, path: Path, trusted: Path | None = None) -> SubmissionFile:
        """Read a file, and find its spelling. A damaged one comes back with its `problem`.

        So does one that takes more than its bounds to read. Raises UsageError for a missing one,
        and for one behind a link below the `trusted` folder, by default the file's own.
        """
        with open_submission(path, trusted) as file:
            return self._read(file.fileno(), path)

    def read_bytes(self, name: str, content: bytes) -> SubmissionFile:
        """Read the content of a file of this name that is on another machine, as `read` does."""
        memory = os.memfd_create("submission", os.MFD_CLOEXEC)
        with os.fdopen(memory, "w+b", buffering=0) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            file.seek(0)
            return self._read(memory, Path(name))

    def _read(self, file: int, path: Path) -> SubmissionFile:
        answer = self.ask(file, path.suffix)
        digest = getattr(answer, "sha256", None) or _digest(file)
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
        """Have the file of a descriptor read. Raises GraderError when nothing can be read.

        Where the process was killed, as by a machine without memory, another one is started, once.
        """
        answer = self._twice(file, lambda process: self._ask(process, file, suffix))
        if isinstance(answer, Broken):
            raise ReadingError(answer.traceback)
        return answer

    def _twice(self, file: int, ask: Callable[[_Process], _Asked]) -> _Asked:
        """Ask the process, and another one where it has ended."""
        process = self._process
        try:
            return ask(process)
        except _EndedError:
            with contextlib.suppress(OSError):  # of what is no plain file
                os.lseek(file, 0, os.SEEK_SET)  # it may have been read to somewhere
        try:
            return ask(self._start_again(process))
        except _EndedError:
            raise _not_started() from None

    def _start_again(self, ended: _Process) -> _Process:
        """Return another process in place of one that has ended; it may be there already."""
        with self._lock:
            if self._process is ended:
                if ended.is_closed or not ended.has_ended():
                    raise _not_started()
                ended.end()
                self._process = _Process()
            return self._process

    def unpack(
        self, file: int, limits: UnpackLimits, bounds: ReaderBounds, whose: object = None
    ) -> Generator[FromUnpacker, None, None]:
        """Yield what is in the archive of a descriptor, and an `Unpacked` where it came to its end.

        To fork takes ten times as long as to unpack what most students hand in. So a process that
        has met nothing but small and sound archives unpacks the next one, too; any other only those
        of the same student, by `whose`. A class's archive has its own process. Raises GraderError
        when nothing can be read.
        """
        request = UnpackRequest(limits, bounds, stays=not limits.shared)
        unpacker = self._unpacker(request, file, whose)
        patience = self._patience + _SLOW * bounds.seconds
        stream = _Answers(unpacker.channel, patience, unpacker.work)
        stays = False
        try:
            with self._quiet.aside(unpacker.work), contextlib.suppress(FrameError):
                while payload := read_frame(stream, PIECE_FRAME):
                    message = _decoded(payload)
                    unpacker.note(message)
                    if isinstance(message, Unpacked):
                        stays = unpacker.may_go_on and not limits.shared
                        yield message
                        return
                    yield message
        finally:
            if not stays or not self._keep(unpacker):
                unpacker.end()

    def _keep(self, unpacker: _Unpacker) -> bool:
        """Keep a process for the next archive. Returns whether there will be one."""
        with self._lock:
            if self._end_unpackers.alive:
                self._unpackers.append(unpacker)
            return self._end_unpackers.alive

    def _unpacker(self, request: UnpackRequest, file: int, whose: object) -> _Unpacker:
        """Return a process that has begun with an archive: one that waits, or another."""
        while request.stays and self._unpackers:
            with self._lock:
                unpacker = self._unpackers.pop() if self._unpackers else None
            if unpacker is not None and unpacker.ask(request, file, whose):
                return unpacker
        begun = self._twice(file, lambda process: self._begin(process, request, file))
        return _Unpacker(*begun, whose)

    def _begin(
        self, process: _Process, request: ToReader, file: int
    ) -> tuple[socket.socket, _Work]:
        """Send a request; return where the answer comes, and who works on it."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                process.send(request, file, theirs.fileno())
            return ours, _Work(_pidfd(ours))
        except BaseException:
            ours.close()
            raise

    def _ask(self, process: _Process, file: int, suffix: str) -> FromReader:
        request = ReadRequest(suffix.lower() if suffix.lower() in TEXTS else "", self._bounds)
        ours, work = self._begin(process, request, file)
        with ours:
            return self._answer(process, ours, work)

    def _answer(self, process: _Process, channel: socket.socket, work: _Work) -> FromReader:
        """Wait for an answer; one that does not come, or is none, is that of a file too large.

        Raises _EndedError where the process has ended that all that read end with.
        """
        try:
            with self._quiet.aside(work):
                payload = _Answers(channel, self._patience, work).payload()
            return decode_payload(payload, FromReader)  # type: ignore[arg-type]
        except FrameError:
            if process.has_ended() and not process.is_closed:
                raise _EndedError from None  # the file may be as small as others
            return Overwhelmed()
        finally:
            work.end()

    def _overwhelmed(self) -> tuple[Text, Text]:
        return (
            say(
                "file-too-large-or-too-complicated-read",
                seconds=self._bounds.seconds,
                memory=self._bounds.memory // 2**20,
            ),
            say("clear-outputs-all-cells-take-out-what"),
        )


class _EndedError(Exception):
    """Raised where the process has ended that readers are forked from."""


class _Process:
    """The process that readers are forked from; it ends with this object."""

    def __init__(self) -> None:
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
        self.end = weakref.finalize(self, _end, self._requests, self._popen)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_closed(self) -> bool:
        """Whether it was ended from here."""
        return not self.end.alive

    def has_ended(self) -> bool:
        """Say whether it has ended, whoever ended it; what was just killed has a second for it."""
        try:
            self._popen.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def send(self, request: ToReader, *descriptors: int) -> None:
        payload = msgspec.msgpack.encode(request)
        try:
            enter.send_descriptors(self._requests, payload, descriptors)
        except OSError:
            raise _EndedError from None


def _not_started() -> GraderError:
    return GraderError(
        say("nothing-can-read-process-that-reads-files"),
        say("try-again-if-happens-again-run-grader"),
    )


class _Work:
    """A process that reads, by its pidfd."""

    def __init__(self, pidfd: int) -> None:
        self._pidfd = pidfd
        self.is_paused = False

    def pause(self) -> None:
        self.is_paused = True
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.is_paused = False
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        self._signal(signal.SIGKILL)
        os.close(self._pidfd)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(self._pidfd, number)


def _pidfd(channel: socket.socket) -> int:
    """Return the pidfd of a process that says its number, and let it go on. Raises _EndedError."""
    if not _Answers(channel, START_SECONDS).is_there():
        raise _EndedError
    try:
        (number,) = PID.unpack(channel.recv(PID.size))
        pidfd = os.pidfd_open(number)
        channel.sendall(b"g")
    except (OSError, struct.error):
        raise _EndedError from None
    return pidfd


def _piece(channel: socket.socket) -> bytes:
    """Return what has come, nothing where the other end is closed.

    Linux resets a connection whose other end dies before it has read all: the byte that lets a
    process go on may still wait there when the process is killed.
    """
    try:
        return channel.recv(2**20)
    except ConnectionResetError:
        return b""


class _Unpacker:
    """A process that unpacks archives, one after the other: those of `whose`, or of everybody."""

    def __init__(self, channel: socket.socket, work: _Work, whose: object) -> None:
        self.channel = channel
        self.work = work
        self._whose = whose
        self._archives = self._members = 0
        self._seconds = 0.0
        self._is_sound = True

    @property
    def may_go_on(self) -> bool:
        """Whether all that it has met was small; and sound, or it is known whose it was."""
        return (
            (self._is_sound or self._whose is not None)
            and self._members <= _FEW_MEMBERS
            and self._archives < _FEW_ARCHIVES
            and self._seconds < STAYING_SECONDS
        )

    def ask(self, request: UnpackRequest, file: int, whose: object) -> bool:
        """Ask for another archive. Returns whether it is asked; the process is ended otherwise."""
        self._members = 0
        is_for = self._is_sound or self._whose is whose
        self._whose = whose
        try:
            # What it says unasked would be taken for what is in the archive.
            if is_for and not select.select([self.channel], [], [], 0)[0]:
                enter.send_descriptors(self.channel, msgspec.msgpack.encode(request), [file])
                return True
        except OSError:
            pass
        self.end()
        return False

    def note(self, message: FromUnpacker) -> None:
        if isinstance(message, Unpacked):
            self._archives += 1
            self._seconds += message.seconds
            self._is_sound = message.end == "all" and self._is_sound
        elif isinstance(message, Skipped):
            is_unread = message.reason in _UNREAD and not message.begun
            self._is_sound = self._is_sound and (is_unread or message.reason in _HARMLESS)
        self._members += isinstance(message, Began)

    def end(self) -> None:
        self.channel.close()
        self.work.end()


class _Answers:
    """What a process sends, received within a time in which stops of its `work` do not count."""

    def __init__(self, channel: socket.socket, patience: float, work: _Work | None = None) -> None:
        self._channel = channel
        self._left = patience
        self._work = work
        self._received = memoryview(b"")

    def recv(self, size: int, /) -> bytes:
        """Return some bytes, as of a socket. Raises FrameError where there are none in time."""
        if not self._received:
            if not self.is_there():
                raise FrameError("there was no answer in time")
            self._received = memoryview(_piece(self._channel))
        found, self._received = self._received[:size], self._received[size:]
        return bytes(found)

    def payload(self) -> bytes:
        """Return all that is sent. Raises FrameError where that is too much, or takes too long."""
        received = bytearray()
        while chunk := self.recv(ANSWER_LIMIT):
            received += chunk
            if len(received) > ANSWER_LIMIT:
                raise FrameError("the answer is too long")
        return bytes(received)

    def is_there(self) -> bool:
        """Say whether something has come."""
        poller = select.poll()
        poller.register(self._channel, select.POLLIN)
        while self._left > 0:
            begin = time.monotonic()
            if poller.poll(_LOOK_SECONDS * 1000):
                return True
            if self._work is None or not self._work.is_paused:
                self._left -= time.monotonic() - begin
        return False


def _decoded(payload: bytearray) -> FromUnpacker:
    try:
        return _TOLD.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"not a message: {error}") from None


def _said(told: SentText) -> Text:
    """Return a sentence that the reading process says; an unknown one is foreign."""
    text = Sentence(told.text, told.values)
    return foreign(told.text) if text.lacks or template(told.text) == told.text else text


def _digest(file: int) -> str:
    """Return the digest of a file whose reader could not tell it."""
    digest, place = hashlib.sha256(), 0
    while place <= SIZE_LIMIT and (chunk := os.pread(file, 2**20, place)):
        digest.update(chunk)
        place += len(chunk)
    return digest.hexdigest()


def _end_all(unpackers: list[_Unpacker]) -> None:
    while unpackers:
        unpackers.pop().end()


def _end(requests: socket.socket, popen: subprocess.Popen[bytes]) -> None:
    requests.close()
    popen.kill()  # it has nothing to lose, and its children end with it
    popen.wait()
