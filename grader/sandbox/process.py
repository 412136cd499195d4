"""A program in its box: its place and user, its end, and what it said last."""

import contextlib
import os
import secrets
import select
import socket
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

import msgspec

from grader.decoding import prepared
from grader.errors import SandboxError
from grader.inside.launcher.memory import kernel_kills
from grader.inside.launcher.protocol import MESSAGE_LIMIT, Cause, Confinement, Ending
from grader.language import Text, say
from grader.sandbox.groups import BoxGroup
from grader.sandbox.interface import Command, Level, ResourceLimits


class Box(Protocol):
    """The place of one program."""

    @property
    def folder(self) -> str:
        """The working folder and home as the program sees it."""
        ...

    @property
    def watched(self) -> tuple[str, ...]:
        """All folders that it can write to."""
        ...

    @property
    def confinement(self) -> Confinement:
        """What takes its powers away."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that every program in a box like this one gets."""
        ...

    @property
    def pidfd(self) -> int | None:
        """A descriptor of the process whose namespaces it enters; None where there are none."""
        ...

    def capacity(self, limits: ResourceLimits) -> int:
        """Return how many bytes files in it may take, which are memory unless on a disk."""
        ...

    def end(self) -> None:
        """End everything inside, wait until it is gone, and leave nothing behind.

        May be called again.
        """
        ...


class Boxes(Protocol):
    """A maker of boxes: one for each level of isolation."""

    @property
    def level(self) -> Level:
        """How strong its boxes are."""
        ...

    @property
    def detail(self) -> Text:
        """One sentence on the mechanism, for the report."""
        ...

    def make(self, command: Command) -> Box:
        """Make the box that a command wants. Raises SandboxError when the machine refuses."""
        ...


_BYTES = 8192
_PATIENCE_SECONDS = 2.0


class Tail:
    """Drains a stream in a thread, so that its writers never wait, and keeps the end of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = b""
        self._thread = threading.Thread(target=self._drain, name="sandbox-stderr", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the last kilobytes so far."""
        return self._kept.decode(errors="replace")

    def finish(self) -> None:
        """Wait until the stream has ended, but not for a writer that has outlived its warden."""
        self._thread.join(_PATIENCE_SECONDS)

    def _drain(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), 65536):
                self._kept = (self._kept + chunk)[-_BYTES:]


_KILL_SECONDS = 30.0
_KILLED = 128 + 9


class Source(Protocol):
    """Who starts programs: a launcher."""

    def is_importing(self) -> bool:
        """Say whether it imports at this moment: nothing that it was asked for has begun."""
        ...

    def last_words(self) -> str:
        """Return what it has said, should it have ended by itself."""
        ...


class SandboxedProcess:
    """A started program. `channel` is where its warden tells of its end; `tail` is what it wrote.

    The object owns all three and may be used from several threads. It kills when it is forgotten.
    `source` was asked to start it. `group` is the control group that counts what it uses, if there
    is one.
    """

    def __init__(
        self,
        box: Box,
        channel: socket.socket,
        tail: Tail,
        source: Source,
        group: BoxGroup | None = None,
    ) -> None:
        self._box = box
        self._group = group
        self._kills = kernel_kills()
        self._source = source
        self._channel = channel
        self._tail = tail
        self._ending: Ending | None = None
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _abandon, box, channel, group)

    @property
    def box(self) -> Box:
        """The place that it runs in."""
        return self._box

    @property
    def standard_error(self) -> str:
        """The last few kilobytes written to standard error; complete once the process has ended."""
        return self._tail.text() or self._source.last_words()

    @property
    def cause(self) -> Cause:
        """Why it was ended from outside, if it was and its end was seen."""
        ending = self._ending
        return "" if ending is None or ending.cause == "start" else ending.cause

    @property
    def peak(self) -> int:
        """Bytes of memory that it has held at most, as far as was looked; 0 before its end."""
        return 0 if self._ending is None else self._ending.peak

    @property
    def start_failure(self) -> str | None:
        """What failed before the program was started; None if nothing did."""
        ending = self._ending
        return ending.detail if ending is not None and ending.cause == "start" else None

    def poll(self) -> int | None:
        """Return the exit status (128 + n for signal n) once all inside is gone, else None."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end, up to `timeout` seconds; return as `poll` does."""
        if self._ending is None and self._is_told(timeout):
            self._finish()
        return None if self._ending is None else self._ending.status

    def kill(self) -> None:
        """End everything inside at once and wait until it is gone. Harmless when it is gone.

        Nobody waits for a launcher that still imports: who pressed Ctrl-C waited for 7 to 14 s on a
        busy machine. What it finds asked of it then has no box any more, and ends by itself.

        Raises SandboxError when the operating system does not end it.
        """
        with self._lock:
            if self._ending is None:
                _ask_for_the_end(self._channel)
                if self._source.is_importing():
                    self._end_box()
                    self._be_over(Ending(_KILLED))
        if self._box.pidfd is not None:
            self._box.end()
        if self.wait(_KILL_SECONDS) is None:
            raise SandboxError(
                say("sandbox-does-not-stop"), say("overloaded-machine-may-end-later-run-command")
            )

    def _is_told(self, timeout: float | None) -> bool:
        with self._lock:
            if self._ending is not None:
                return True
            number = self._channel.fileno()
        poller = select.poll()
        poller.register(number, select.POLLIN)
        return bool(poller.poll(None if timeout is None else timeout * 1000))

    def _finish(self) -> None:
        with self._lock:
            if self._ending is not None:
                return
            ending = _read(self._channel)
            self._end_box()
            self._tail.finish()
            if ending is None:  # its warden was killed, and it with it
                ending = Ending(_KILLED, "outside" if kernel_kills() > self._kills else "")
            self._be_over(ending)

    def _end_box(self) -> None:
        self._box.end()
        if self._group is not None:
            self._group.remove()

    def _be_over(self, ending: Ending) -> None:
        self._ending = ending
        self._finalizer.detach()
        self._channel.close()


def _read(channel: socket.socket) -> Ending | None:
    """Return what the warden told; None for one that ended without a word."""
    try:
        payload = channel.recv(MESSAGE_LIMIT)
    except ConnectionResetError:
        payload = b""
    return msgspec.msgpack.decode(payload, type=prepared(Ending)) if payload else None


def _ask_for_the_end(channel: socket.socket) -> None:
    try:
        channel.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the warden is gone already


def _abandon(box: Box, channel: socket.socket, group: BoxGroup | None) -> None:
    _ask_for_the_end(channel)
    if box.pidfd is None:
        _read(channel)  # the warden's last word: only then nothing uses the folder any more
    channel.close()
    box.end()
    if group is not None:
        group.remove()


def student_id() -> int:
    """Draw a user id that nobody has: the limit on processes is counted by user id.

    Within a container only the ids of its own map exist.
    """
    rows = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    highest = min(max(int(first) + int(count) for first, _, count in rows), 2**31) - 1
    return highest - secrets.randbelow(max(highest // 2, 1))


def tasks_of(user: int) -> int:
    """Return how many processes and threads a user has."""
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if path.stat().st_uid == user:
                count += sum(1 for _ in (path / "task").iterdir())
    return count
