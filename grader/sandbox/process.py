"""A command that runs under bubblewrap: waiting for it and ending it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import weakref

from grader.errors import SandboxError

_TAIL_BYTES = 8192
_KILL_SECONDS = 30.0


class SandboxedProcess:
    """A started sandbox. When pid 1 of its pid namespace is gone, so is everything else in it.

    `pidfd` refers to that pid 1, `popen` is bubblewrap's outer process with a pipe for its errors.
    The object owns both and may be used from several threads.
    """

    def __init__(self, popen: subprocess.Popen[bytes], pidfd: int) -> None:
        self._popen = popen
        self._pidfd = pidfd
        self._status: int | None = None
        self._tail = _Tail(popen)
        weakref.finalize(self, os.close, pidfd)

    @property
    def pid(self) -> int:
        """Process id of bubblewrap's outer process, on the host."""
        return self._popen.pid

    @property
    def standard_error(self) -> str:
        """The last few kilobytes written to standard error; complete once the process has ended."""
        return self._tail.text()

    def poll(self) -> int | None:
        """Return the exit status (128 + n for signal n) once all inside is gone, else None."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end, up to `timeout` seconds; return as `poll` does."""
        if self._status is None and self._is_gone(timeout):
            code = self._popen.wait()
            self._tail.finish()
            self._status = code if code >= 0 else 128 - code
        return self._status

    def kill(self) -> None:
        """End everything inside at once and wait until it is gone. Harmless when it is gone.

        Raises SandboxError when the operating system does not end it.
        """
        if self._status is None and not self._is_gone(0):
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself meanwhile
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        if self.wait(_KILL_SECONDS) is None:
            raise SandboxError(
                f"The sandbox of process {self.pid} does not end.",
                "Look at the machine's system log; a restart of the machine ends it.",
            )

    def _is_gone(self, timeout: float | None) -> bool:
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return bool(poller.poll(None if timeout is None else timeout * 1000))


class _Tail:
    """Drains standard error in a thread, so that nobody inside ever waits for a reader."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._stream = popen.stderr
        self._kept = b""
        self._thread = threading.Thread(target=self._drain, name="sandbox-stderr", daemon=True)
        self._thread.start()

    def text(self) -> str:
        return self._kept.decode(errors="replace")

    def finish(self) -> None:
        self._thread.join()

    def _drain(self) -> None:
        assert self._stream is not None
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), 65536):
                self._kept = (self._kept + chunk)[-_TAIL_BYTES:]
